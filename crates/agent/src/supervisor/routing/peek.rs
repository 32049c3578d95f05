//! Reads of a message what says whose it is, and nothing else. Also of one whose end is missing, as far as it goes.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use switchboard_client::RequestId;

/// What says whose a message is.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Peek {
    pub(super) id: Option<RequestId>,
    pub(super) is_named: bool,
    /// The request whose progress it tells.
    pub(super) progress_of: Option<RequestId>,
    /// The request that it cancels.
    pub(super) cancels: Option<RequestId>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Notification,
    Response,
}

impl Peek {
    /// Nothing if it is no JSON object, nor the beginning of one. A batch is read as its first message.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let first = bytes.trim_ascii_start().first()?;
        let mut peek = Self::default();
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let read = match first {
            b'{' => Message(&mut peek).deserialize(&mut json),
            b'[' => First(&mut peek).deserialize(&mut json),
            _ => return None,
        };
        match read {
            Ok(()) => Some(peek),
            // Cut off by whoever shows it in pieces.
            Err(error) if error.is_eof() && (peek.id.is_some() || peek.is_named) => Some(peek),
            Err(_) => None,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match (self.is_named, &self.id) {
            (true, Some(_)) => Kind::Request,
            (true, None) => Kind::Notification,
            (false, _) => Kind::Response,
        }
    }
}

/// What is seen is kept even where the message ends too early.
struct Message<'a>(&'a mut Peek);

struct First<'a>(&'a mut Peek);

struct Params<'a>(&'a mut Peek);

macro_rules! object {
    ($seed:ident, $visit:expr) => {
        impl<'de> DeserializeSeed<'de> for $seed<'_> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }

        impl<'de> Visitor<'de> for $seed<'_> {
            type Value = ();
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    $visit(&mut *self.0, &key, &mut map)?;
                }
                Ok(())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(())
            }
        }
    };
}

object!(Message, message_member);
object!(Params, params_member);

fn message_member<'de, A: MapAccess<'de>>(peek: &mut Peek, key: &str, map: &mut A) -> Result<(), A::Error> {
    match key {
        "id" => peek.id = map.next_value::<MaybeId>()?.0,
        "method" => {
            map.next_value::<IgnoredAny>()?;
            peek.is_named = true;
        }
        "params" => map.next_value_seed(Params(peek))?,
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
    Ok(())
}

fn params_member<'de, A: MapAccess<'de>>(peek: &mut Peek, key: &str, map: &mut A) -> Result<(), A::Error> {
    match key {
        "progressToken" => peek.progress_of = map.next_value::<MaybeId>()?.0,
        "requestId" => peek.cancels = map.next_value::<MaybeId>()?.0,
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
    Ok(())
}

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a batch")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        seq.next_element_seed(Message(self.0))?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// An id, or whatever stands in its place.
struct MaybeId(Option<RequestId>);

impl<'de> serde::Deserialize<'de> for MaybeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_client::RequestId;

    use super::{Kind, Peek};

    #[test]
    fn what_says_whose_a_message_is_is_read_and_nothing_else() {
        let id = |id: i128| Some(RequestId::Integer(id));
        let peek = Peek::default;
        let named = || Peek { is_named: true, ..peek() };
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x"}}"#,
                Some(Peek { id: id(5), ..named() }),
            ),
            (
                r#"{"id":5,"result":{"id":7,"params":{"progressToken":1}}}"#,
                Some(Peek { id: id(5), ..peek() }),
            ),
            (
                r#"{"method":"m","params":{"progressToken":3,"progress":1}}"#,
                Some(Peek { progress_of: id(3), ..named() }),
            ),
            (r#"{"method":"m","params":{"requestId":4}}"#, Some(Peek { cancels: id(4), ..named() })),
            (r#"{"id":null,"error":{}}"#, Some(peek())),
            (r#"{"id":[1],"error":{}}"#, Some(peek())),
            (r#"{"method":"m","params":[1]}"#, Some(named())),
            (r#"[{"id":1,"result":{}},{"id":2}]"#, Some(Peek { id: id(1), ..peek() })),
            (r#"{"id":5,"result":{"text":"abc"#, Some(Peek { id: id(5), ..peek() })),
            (r#"{"result":{"text":"abc"#, None),
            ("Server started", None),
            ("12", None),
            ("{broken}", None),
            ("", None),
        ] {
            assert_eq!(Peek::of(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(Peek::of(br#"{"id":1,"method":"m"}"#).unwrap().kind(), Kind::Request);
        assert_eq!(Peek::of(br#"{"method":"m"}"#).unwrap().kind(), Kind::Notification);
        assert_eq!(Peek::of(br#"{"id":1}"#).unwrap().kind(), Kind::Response);
    }
}
