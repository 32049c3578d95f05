//! Fields against what they show and what a typed line is for them.

use serde_json::{Value, json};
use switchboard_agent::visible;
use switchboard_protocol::model::elicitation::PrimitiveSchema;
use url::Url;

use super::field::{Typed, describe, prompt, read};
use super::{doubts, fits, said};

/// What comes of a line: the value as JSON, `left out`, or what is wrong.
fn typed(field: &Value, line: &str) -> String {
    let field: PrimitiveSchema = serde_json::from_value(field.clone()).unwrap();
    match read(&field, line) {
        Typed::Nothing => "left out".to_owned(),
        Typed::Wrong(problem) => problem,
        Typed::Value(value) => match fits(("f", &field), &value) {
            Ok(()) => value.to_string(),
            Err(problem) => problem,
        },
    }
}

#[test]
fn a_typed_line_becomes_the_value_of_its_field() {
    let text = json!({"type": "string", "minLength": 2});
    let mail = json!({"type": "string", "format": "email", "default": "a@b.example"});
    let age = json!({"type": "integer", "minimum": 0, "maximum": 150});
    let share = json!({"type": "number", "default": 0.5});
    let flag = json!({"type": "boolean", "default": true});
    let colour = json!({"type": "string", "enum": ["red", "green"], "default": "green"});
    let named = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
    let titled = json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
    let several =
        json!({"type": "array", "items": {"enum": ["x", "y", "z"]}, "maxItems": 2, "default": ["x"]});
    for (field, line, expected) in [
        (&text, " Ada ", r#""Ada""#),
        (&text, "A", "the field \"f\" must have at least 2 characters"),
        (&text, "", "left out"),
        (&mail, "", r#""a@b.example""#),
        (&mail, "nobody", "the field \"f\" is no valid email"),
        (&age, "36", "36"),
        (&age, "3.6", "the field \"f\" must be an integer"),
        (&age, "151", "the field \"f\" must be at most 150"),
        (&age, "old", "\"old\" is no number."),
        (&share, "", "0.5"),
        (&share, "1e2", "100.0"),
        (&flag, "", "true"),
        (&flag, "No", "false"),
        (&flag, "perhaps", "Answer y or n."),
        (&colour, "1", r#""red""#),
        (&colour, "green", r#""green""#),
        (&colour, "", r#""green""#),
        (&colour, "3", "\"3\" is none of them."),
        (&colour, "0", "\"0\" is none of them."),
        (&named, "2", r#""g""#),
        (&named, "red", r#""r""#),
        (&titled, "Green", r#""g""#),
        (&several, "1, z", r#"["x","z"]"#),
        (&several, "", r#"["x"]"#),
        (&several, "-", "[]"),
        (&several, "1,2,3", "the field \"f\" has 3 choices, which is too few or too many"),
    ] {
        assert_eq!(typed(field, line), expected, "{field} {line:?}");
    }
}

#[test]
fn a_field_shows_its_meaning_its_choices_and_its_default() {
    let field = json!({"type": "string", "title": "Colour", "description": "Of the\u{202e} car",
        "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green\u{1b}[2J"}], "default": "g"});
    let field: PrimitiveSchema = serde_json::from_value(field).unwrap();
    let lines = describe("colour", &field, true);
    assert_eq!(
        lines,
        [
            "  │ Colour (colour), required",
            "  │ Of the\\u{202e} car",
            "  │   1  r  Red",
            "  │   2  g  Green\\u{1b}[2J",
        ]
    );
    assert_eq!(prompt(&field), "a number of the list [g]");
}

#[test]
fn a_message_stands_behind_a_bar_and_is_made_visible_once() {
    for (message, lines) in [
        ("Your name?\nAll of it.", &["  │ Your name?", "  │ All of it."][..]),
        ("a\u{1b}[2Jb\r\nC:\\files", &["  │ a\\u{1b}[2Jb", "  │ C:\\files"]),
    ] {
        // The host makes it visible for whoever shows it.
        for message in [message.to_owned(), visible::text(message)] {
            assert_eq!(said(&message).collect::<Vec<_>>(), lines);
        }
    }
}

#[test]
fn an_address_is_doubted_where_a_person_should_look_twice() {
    for (url, expected) in [
        ("https://example.com/login", 0),
        ("http://127.0.0.1:8080/", 0),
        ("http://[::1]/", 0),
        ("http://example.com/", 1),
        ("https://еxample.com/", 1),
        ("https://bank.example@evil.example/", 1),
    ] {
        let url = Url::parse(url).unwrap();
        assert_eq!(doubts(&url, url.host_str().unwrap()).len(), expected, "{url}");
    }
}
