//! What texts expand to.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::Expander;
use crate::inputs::Input;
use crate::origin::{Layer, OriginKind};
use crate::paths::Paths;
use crate::places::{Part, Place};
use crate::secret::SecretString;
use crate::secrets::{SecretError, Secrets};
use crate::sources::Sources;

struct One;

impl Secrets for One {
    fn secret(&self, name: &str) -> Result<Option<SecretString>, SecretError> {
        match name {
            "s" => Ok(Some(SecretString::new("sec${A}ret"))),
            "locked" => Err(SecretError::new("the keychain is locked", "unlock it")),
            _ => Ok(None),
        }
    }

    fn keep(&self, _: &str, _: &SecretString) -> Result<(), SecretError> {
        Ok(())
    }
}

fn expand(kind: OriginKind, folder: &Path, text: &str) -> Result<String, String> {
    let env = |name: &str| match name {
        "A" => Some("1".to_owned()),
        "EMPTY" => Some(String::new()),
        "ProgramFiles(x86)" => Some("p".to_owned()),
        "DOLLAR" => Some("${A}$$".to_owned()),
        _ => None,
    };
    let paths = Paths {
        home: Some("/home/u".into()),
        config_dir: "/c".into(),
        data_dir: "/d".into(),
        system_file: None,
    };
    let mut sources = Sources::new(paths, "/work", Arc::new(env));
    sources.secrets = Some(Arc::new(One));
    let place = Place {
        kind,
        layer: Layer::User,
        file: folder.join("file"),
        project: folder.to_owned(),
        part: Part::Usual,
        foreign: false,
        named: false,
    };
    let mut input = Input::new("with default");
    input.default = Some("d".to_owned());
    let inputs = [input, Input::new("without")];
    let answers = RefCell::default();
    let expander = Expander::new(&sources, &place, &inputs, &answers);
    expander.expand(text).map_err(|unset| format!("{}: {}; {}", unset.variable, unset.message, unset.hint))
}

/// Checks what a text becomes; an error by a part of it.
fn check(kind: OriginKind, table: &[(&str, Result<&str, &str>)]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.txt"), "line\r\n").unwrap();
    for (text, expected) in table {
        match (expand(kind, folder.path(), text), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.replace(&folder.path().display().to_string(), "<dir>"), *expected, "{text}");
            }
            (Err(found), Err(part)) => {
                let found = found.replace(&folder.path().display().to_string(), "<dir>");
                assert!(found.contains(part), "{text}: {part:?} is not in {found:?}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn references_become_values() {
    check(
        OriginKind::Native,
        &[
            ("", Ok("")),
            ("a $ b$", Ok("a $ b$")),
            ("$A", Ok("$A")),
            ("${A}", Ok("1")),
            ("x${A}y${env:A}z", Ok("x1y1z")),
            ("$${A} $$A $$$${A}", Ok("${A} $A $${A}")),
            ("$$${A}", Ok("$1")),
            ("${NOT}", Err("${NOT}: the variable NOT is not set")),
            ("${env:NOT}", Err("${env:NOT}: the variable NOT")),
            ("${NOT:-d}", Ok("d")),
            ("${NOT:-}", Ok("")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-d}", Ok("d")),
            ("${A:-d}", Ok("1")),
            ("${NOT:-a ${A} ${ALSO_NOT:-b}}", Ok("a 1 b")),
            ("${NOT:-${ALSO_NOT}}", Err("${ALSO_NOT}")),
            ("${NOT:-http://h:1/}", Ok("http://h:1/")),
            ("${env:ProgramFiles(x86)}", Ok("p")),
            // A value is never read for references.
            ("${DOLLAR}", Ok("${A}$$")),
            ("${secret:s}", Ok("sec${A}ret")),
            ("${secret:t}", Err("there is no secret \"t\"")),
            ("${secret:t:-d}", Ok("d")),
            ("${secret:locked}", Err("locked")),
            ("${file:f.txt}", Ok("line")),
            ("${file:none}", Err("there is no file \"<dir>/none\"; make it, or correct the path")),
            ("${file:none:-d}", Ok("d")),
            ("${file:.}", Err("is no file")),
            ("${input:with default}", Ok("d")),
            ("${input:without}", Err("nobody can be asked")),
            ("${input:withot}", Err("no input is called \"withot\"; did you mean without?")),
            ("${input:k}", Err("only files of VS Code declare inputs; here write ${secret:k}")),
            ("${command:x}", Err("`command:` is not known")),
            ("${workspaceFolder}", Err("not set; other products know workspaceFolder")),
            ("${file:}", Err("is no reference")),
            ("${", Err("has no }")),
            ("${}", Err("is no reference")),
            ("${A B}", Err("is no reference")),
            ("${0#x}", Err("is no reference")),
            ("ü${A}ü", Ok("ü1ü")),
        ],
    );
    let deep = format!("{}x{}", "${N:-".repeat(20), "}".repeat(20));
    check(OriginKind::Native, &[(&deep, Err("nested too deep"))]);
}

#[test]
fn editors_know_their_folders() {
    for kind in [OriginKind::VsCode, OriginKind::Cursor] {
        check(
            kind,
            &[
                ("${workspaceFolder}${/}x", Ok("<dir>/x")),
                ("${workspaceFolder:name}", Ok("<dir>")),
                ("${userHome}${pathSeparator}", Ok("/home/u/")),
                ("${cwd}", Ok("/work")),
                ("${env:A}", Ok("1")),
                ("${config:a.b}", Err("`config:` is not known")),
            ],
        );
    }
    check(OriginKind::McpJson, &[("${CLAUDE_PROJECT_DIR:-.}", Ok("<dir>"))]);
}

#[test]
fn where_nothing_was_ever_replaced_only_references_are() {
    for kind in [OriginKind::ClaudeDesktop, OriginKind::Codex] {
        check(
            kind,
            &[
                ("a$$b", Ok("a$$b")),
                ("${0#x} ${A}", Ok("${0#x} 1")),
                ("${", Ok("${")),
                ("${NOT}", Err("not set")),
            ],
        );
    }
}
