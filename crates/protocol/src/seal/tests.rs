//! Tokens that open, and all the ways in which they must not.

use proptest::prelude::{any, proptest};
use serde_json::value::RawValue;

use super::*;

const BINDING: Binding<'static> = Binding {
    purpose: "requestState",
    audience: "https://example.com/mcp",
    principal: Some("alice"),
    method: "tools/call",
    digest: [9; 32],
};

fn key(seed: u8) -> SealKey {
    SealKey::new([seed; 32])
}

fn sealer(seed: u8) -> Sealer {
    Sealer::new(KeyRing::new(key(seed)))
}

fn token() -> String {
    sealer(1).seal(&BINDING, 100, b"payload", [3; NONCE_BYTES]).unwrap()
}

fn reason(sealer: &Sealer, binding: &Binding<'_>, now: u64, token: &str) -> SealErrorReason {
    let error = sealer.open(binding, now, token).unwrap_err();
    assert_eq!(error.to_string(), "the token is not valid for this request; start again without it");
    error.reason()
}

#[test]
fn a_token_opens_for_the_request_it_was_made_for() {
    assert_eq!(sealer(1).open(&BINDING, 0, &token()).unwrap(), b"payload");
    assert_eq!(sealer(1).open(&BINDING, 99, &token()).unwrap(), b"payload");
    assert!(!token().contains(['+', '/', '=']));
}

#[test]
fn any_other_request_is_refused() {
    for other in [
        Binding { purpose: "cursor", ..BINDING },
        Binding { audience: "https://example.com/other", ..BINDING },
        Binding { principal: Some("mallory"), ..BINDING },
        Binding { principal: Some(""), ..BINDING },
        Binding { principal: None, ..BINDING },
        Binding { method: "prompts/get", ..BINDING },
        Binding { digest: [8; 32], ..BINDING },
        // The same characters, cut elsewhere.
        Binding { purpose: "requestStat", audience: "ehttps://example.com/mcp", ..BINDING },
    ] {
        assert_eq!(reason(&sealer(1), &other, 0, &token()), SealErrorReason::NotAuthentic, "{other:?}");
    }
    let nobody = Binding { principal: None, ..BINDING };
    let token = sealer(1).seal(&nobody, 100, b"", [0; NONCE_BYTES]).unwrap();
    assert!(sealer(1).open(&nobody, 0, &token).unwrap().is_empty());
    assert!(sealer(1).open(&Binding { principal: Some(""), ..BINDING }, 0, &token).is_err());
}

#[test]
fn a_token_expires() {
    for now in [100, 101, u64::MAX] {
        assert_eq!(reason(&sealer(1), &BINDING, now, &token()), SealErrorReason::Expired);
    }
}

#[test]
fn what_is_no_token_is_malformed() {
    let whole = token();
    for text in
        ["", "A", "AQ", "%%%", "not a token", &whole[..40], &format!("{whole}="), &format!(" {whole}")]
    {
        let found = reason(&sealer(1), &BINDING, 0, text);
        assert!(found != SealErrorReason::Expired && found != SealErrorReason::TooLong, "{text}: {found}");
    }
}

#[test]
fn tokens_are_bounded_both_ways() {
    let small = sealer(1).max_token_bytes(100);
    let error = small.seal(&BINDING, 100, &[0; 100], [0; NONCE_BYTES]).unwrap_err();
    assert_eq!(error.reason(), SealErrorReason::TooLong);
    let long = "A".repeat(DEFAULT_MAX_TOKEN_BYTES + 1);
    assert_eq!(reason(&sealer(1), &BINDING, 0, &long), SealErrorReason::TooLong);
}

#[test]
fn keys_rotate_without_breaking_tokens() {
    let before = token();
    assert_eq!(reason(&sealer(2), &BINDING, 0, &before), SealErrorReason::UnknownKey);
    let rotated = Sealer::new(KeyRing::new(key(2)).and_open_with(key(1)));
    assert_eq!(rotated.open(&BINDING, 0, &before).unwrap(), b"payload");
    let after = rotated.seal(&BINDING, 100, b"new", [4; NONCE_BYTES]).unwrap();
    assert_eq!(sealer(2).open(&BINDING, 0, &after).unwrap(), b"new");
    assert_eq!(reason(&sealer(1), &BINDING, 0, &after), SealErrorReason::UnknownKey);
}

#[test]
fn debug_output_shows_no_key() {
    let shown = format!("{:?}", sealer(0xab));
    assert!(!shown.contains("171, 171") && !shown.to_lowercase().contains("abab"), "{shown}");
}

fn digest(text: &str) -> [u8; 32] {
    params_digest("t", Some(&RawValue::from_string(text.to_owned()).unwrap()))
}

#[test]
fn the_digest_ignores_what_does_not_matter() {
    for (left, right) in [
        (
            r#"{"a":1,"b":[true,null,{"d":"x","c":{}}]}"#,
            " {\"b\" : [ true , null,{\"c\":{ },\"d\":\"\\u0078\"} ] ,\n\"a\":1 } ",
        ),
        (r#""a/b\n""#, r#""a\/b\u000a""#),
        (r#"{"é":"\\\"]"}"#, r#"{"\u00e9":"\u005c\u0022\u005d"}"#),
        ("[ ]", "[]"),
        (" 1 ", "1"),
    ] {
        assert_eq!(digest(left), digest(right), "{left} and {right}");
    }
}

#[test]
fn the_digest_tells_apart_what_differs() {
    let texts = [
        "{}",
        "[]",
        "null",
        "\"\"",
        "1",
        "1.0",
        "1e0",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[12]",
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":2,"a":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":{},"b":1}"#,
    ];
    for (index, left) in texts.iter().enumerate() {
        for right in &texts[index + 1..] {
            assert_ne!(digest(left), digest(right), "{left} and {right}");
        }
    }
    assert_ne!(params_digest("t", None), params_digest("", None));
}

#[test]
fn the_digest_of_deeply_nested_arguments_ends() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_ne!(digest(&deep("1")), digest(&deep("2")));
}

proptest! {
    #[test]
    fn a_flipped_bit_is_refused(position in 0usize..200, bit in 0u8..6) {
        let token = token();
        let mut bytes = token.clone().into_bytes();
        let position = position % bytes.len();
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let symbol = alphabet.iter().position(|symbol| *symbol == bytes[position]).unwrap();
        bytes[position] = alphabet[symbol ^ (1 << bit)];
        let changed = String::from_utf8(bytes).unwrap();
        assert!(sealer(1).open(&BINDING, 0, &changed).is_err());
    }

    #[test]
    fn what_is_sealed_opens(payload in any::<Vec<u8>>(), nonce in any::<[u8; 24]>(), digest in any::<[u8; 32]>(), expires in 1u64..) {
        let binding = Binding { digest, ..BINDING };
        let token = sealer(1).seal(&binding, expires, &payload, nonce).unwrap();
        assert_eq!(sealer(1).open(&binding, expires - 1, &token).unwrap(), payload);
        assert!(sealer(1).open(&BINDING, 0, &token).is_err() || digest == BINDING.digest);
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        assert!(sealer(1).open(&BINDING, 0, &text).is_err());
    }

    #[test]
    fn the_digest_is_that_of_the_value(text in "[\\{\\}\\[\\]\":,a1\\\\ ]{0,40}") {
        if let Ok(raw) = RawValue::from_string(text) {
            let value: serde_json::Value = serde_json::from_str(raw.get()).unwrap();
            let again = serde_json::value::to_raw_value(&value).unwrap();
            if again.get().len() == raw.get().len() && !raw.get().contains(' ') {
                assert_eq!(params_digest("", Some(&raw)), params_digest("", Some(&again)));
            }
        }
    }
}
