//! Layouts of structured content, and what stands first.

use super::*;

const CLIMATE: &str = include_str!("../../tests/data/climate.json");

fn structured_result(json: &str) -> CallToolResult {
    let raw = RawValue::from_string(json.trim().to_owned()).unwrap();
    CallToolResult { structured_content: Some(raw), ..CallToolResult::default() }
}

fn check(question: &str, json: &str, expected: &str) {
    assert_eq!(answer(&structured_result(json), question, None), expected, "{question}");
}

#[test]
fn what_was_asked_for_comes_first_then_what_has_to_do_with_it_then_how_much_is_left() {
    let schema = RawValue::from_string(
        r#"{"additionalProperties": {"properties": {"Temperature": {"description": "Air temperature in °C."},
            "Humidity": {"description": "Relative."}}}}"#
            .to_owned(),
    )
    .unwrap();
    let shown = |question| answer(&structured_result(CLIMATE), question, Some(&schema));
    insta::assert_snapshot!(shown("How warm is it right now?"), @r"
    Temperature: Indoor 21.5 °C, Bedroom 18.9 °C, Balcony 7.3 °C

                   Indoor                Bedroom               Balcony
    Temperature    21.5                  18.9                  7.3
    min_temp       20.3                  17.6                  4.6
    max_temp       22.1                  19.2                  13.2
    date_min_temp  2026-07-28T05:00:00Z  2026-07-28T06:00:00Z  2026-07-28T05:00:00Z
    date_max_temp  2026-07-28T17:00:00Z  2026-07-28T18:00:00Z  2026-07-28T14:00:00Z
    temp_trend     stable                up                    down

    (7 more fields; the result of the call has all)
    ");
    insta::assert_snapshot!(shown("How warm is it in the bedroom?"), @r"
    Temperature: Bedroom 18.9 °C

    Bedroom
      Temperature    18.9
      min_temp       17.6
      max_temp       19.2
      date_min_temp  2026-07-28T06:00:00Z
      date_max_temp  2026-07-28T18:00:00Z
      temp_trend     up

    (7 more fields; the result of the call has all)
    ");
    insta::assert_snapshot!(shown("How humid is it?"), @r"
    Humidity: Indoor 44, Bedroom 48, Balcony 72 (Relative)

    (12 more fields; the result of the call has all)
    ");
}

#[test]
fn a_small_result_is_shown_whole() {
    check("Which result?", r#"{"result":14.0}"#, "result: 14");
    check("Which result?", r#"{"result":14,"steps":2}"#, "result: 14\n\nresult  14\nsteps   2");
}

#[test]
fn a_place_that_the_question_names_is_the_only_one_in_the_first_line() {
    let first = |question: &str| {
        answer(&structured_result(CLIMATE), question, None).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first("How warm is it in the bedroom?"), "Temperature: Bedroom 18.9");
    assert_eq!(first("How cold did it get on the balcony at the lowest?"), "min_temp: Balcony 4.6");
    assert_eq!(first("How much rain is there?"), "Rain: Rain 0.2");
    assert_eq!(
        first("Tell me everything").trim_start(),
        "Indoor                Bedroom               Balcony               Rain"
    );
}

#[test]
fn every_shape_has_a_layout() {
    check("", "{}", "(empty object)");
    check("", "[]", "(empty list)");
    check("", "null", "null");
    check("", "14", "14");
    check("", r#"{"result":14.0}"#, "result  14");
    check(
        "",
        r#"{"b":1,"long_name":"x","nested":{"c":[1,"two"]}}"#,
        "b          1\nlong_name  x\nnested\n  c\n    - 1\n    - two",
    );
    check("", r#"[{"a":1,"b":"x"},{"b":"yy","c":null}]"#, "a  b   c\n1  x   -\n-  yy  null");
    check("", r#"[[1],{"a":[]}]"#, "-\n  - 1\n-\n  a\n    (empty list)");
}

#[test]
fn text_of_a_server_cannot_move_the_cursor() {
    check("", "{\"a\\u001b[2J\":\"x\\u202e\"}", "a\\u{1b}[2J  x\\u{202e}");
    let result = CallToolResult::of(vec![ContentBlock::text("one\r\ntwo\u{1b}[2J\n")]);
    assert_eq!(super::result(&result), "one\ntwo\\u{1b}[2J");
}

#[test]
fn line_ends_and_tabs_are_no_control_characters_that_must_be_made_visible() {
    for (text, alone, in_an_object, in_a_list) in [
        ("done\n", "done", "r  done", "- done"),
        ("done\r\n\n", "done", "r  done", "- done"),
        ("one\ntwo\n", "one\ntwo", "r\n  one\n  two", "-\n  one\n  two"),
        ("one\r\n\r\ntwo", "one\n\ntwo", "r\n  one\n\n  two", "-\n  one\n\n  two"),
        ("a\tb", "a\tb", "r  a  b", "- a  b"),
        ("a\u{c}b", "a\\u{c}b", "r  a\\u{c}b", "- a\\u{c}b"),
        ("10 %\r20 %", "10 %\\u{d}20 %", "r  10 %\\u{d}20 %", "- 10 %\\u{d}20 %"),
        (r"C:\dir", r"C:\dir", r"r  C:\dir", r"- C:\dir"),
    ] {
        assert_eq!(super::result(&CallToolResult::of(vec![ContentBlock::text(text)])), alone, "{text:?}");
        check("", &serde_json::json!({ "r": text }).to_string(), in_an_object);
        check("", &serde_json::json!([text]).to_string(), in_a_list);
    }
    check("Which note?", r#"{"note":"one\ntwo\n"}"#, "note: one ⏎ two");
    check("", r#"[{"a":1,"b":"x\n"},{"a":2,"b":"y"}]"#, "a  b\n1  x\n2  y");
    check("", r#"[{"a":1,"b":"x\ny"}]"#, "-\n  a  1\n  b\n    x\n    y");
}

#[test]
fn what_is_not_structured_is_shown_as_it_is() {
    assert_eq!(super::result(&CallToolResult::of(vec![ContentBlock::text("Paris: 12 °C")])), "Paris: 12 °C");
    assert_eq!(super::result(&CallToolResult::of(vec![ContentBlock::text(r#"{"a":1}"#)])), "a  1");
    assert_eq!(super::result(&CallToolResult::of(vec![])), "The tool succeeded and returned no output.");
    let picture =
        CallToolResult::of(vec![ContentBlock::text("see"), ContentBlock::image("AAAA", "image/png")]);
    assert_eq!(super::result(&picture), "see\n[image, image/png, 3 bytes]");
}

/// Whatever it is, it is laid out soon, in bounded space, and says that something is left out.
fn check_bounded(what: &str, json: &str) {
    let result = structured_result(json);
    for shown in [super::result(&result), answer(&result, "How warm is field k1 x?", None)] {
        assert!(shown.len() < LONGEST_TEXT + 100, "{what}: {} bytes", shown.len());
    }
}

#[test]
fn no_result_is_laid_out_without_bounds() {
    let name = |length: usize| "x".repeat(length);
    let many =
        |count: usize, member: &dyn Fn(usize) -> String| (0..count).map(member).collect::<Vec<_>>().join(",");
    for (what, json) in [
        ("a name wider than a format can pad", format!(r#"{{"{}":1,"b":2}}"#, name(70_000))),
        (
            "a long name among many",
            format!(r#"{{"{}":1,{}}}"#, name(60_000), many(9000, &|at| format!(r#""k{at}":1"#))),
        ),
        ("many fields", format!("{{{}}}", many(60_000, &|at| format!(r#""k{at}":1"#)))),
        ("many rows with many fields", format!("[{}]", many(60_000, &|at| format!(r#"{{"k{at}":1}}"#)))),
        (
            "two columns with many fields",
            format!(r#"{{"a":{{{0}}},"b":{{{0}}}}}"#, many(30_000, &|at| format!(r#""k{at}":1"#))),
        ),
        (
            "a long place with many values",
            format!(r#"{{"{}":[{}]}}"#, name(100_000), many(20_000, &|_| r#"{"x":1}"#.to_owned())),
        ),
        ("a long text", format!("\"{}\"", name(1_000_000))),
    ] {
        check_bounded(what, &json);
    }
}

#[test]
fn what_is_left_out_of_a_long_text_is_said() {
    let result = CallToolResult::of(vec![ContentBlock::text("é\n".repeat(100_000))]);
    let shown = super::result(&result);
    assert!(shown.ends_with("é\n(the rest is left out; --json shows all)"), "{}", &shown[shown.len() - 60..]);
}
