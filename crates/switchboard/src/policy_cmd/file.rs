//! Adds rules to this user's own configuration file and removes them, and leaves all else in it as it is.

use std::io;
use std::path::Path;

use switchboard_agent::policy::Rule;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::failure::Failure;

/// Adds a rule behind all others, unless it is there already.
pub(super) fn add(path: &Path, rule: &Rule) -> Result<(), Failure> {
    let _alone = switchboard_config::lock_file(path).map_err(|error| unusable(path, &error))?;
    let mut document = read(path)?;
    if position(&document, rule).is_some() {
        return Ok(());
    }
    let one: DocumentMut =
        toml_edit::ser::to_string_pretty(rule).ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Failure::usage("a file cannot hold the rule: TOML knows no null", "compare with another value")
        })?;
    let policy = document.entry("policy").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let policy = policy.as_table_like_mut().ok_or_else(|| odd(path))?;
    let rules = policy.entry("rules").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match rules {
        Item::ArrayOfTables(rules) => {
            let mut table = one.as_table().clone();
            // In line it reads better, and cannot run into the next rule.
            if let Some(arguments) = table.remove("arguments").and_then(inline) {
                table.insert("arguments", Item::Value(arguments));
            }
            if let Some(annotations) = table.remove("annotations").and_then(|item| item.into_value().ok()) {
                table.insert("annotations", Item::Value(annotations));
            }
            table.set_position(None);
            rules.push(table);
        }
        Item::Value(toml_edit::Value::Array(rules)) => {
            let mut table = one.as_table().clone();
            if let Some(arguments) = table.remove("arguments").and_then(inline) {
                table.insert("arguments", Item::Value(arguments));
            }
            rules.push(table.into_inline_table());
        }
        _ => return Err(odd(path)),
    }
    write(path, &document.to_string())
}

/// Removes a rule. `false` if it is not there.
pub(super) fn remove(path: &Path, rule: &Rule) -> Result<bool, Failure> {
    let _alone = switchboard_config::lock_file(path).map_err(|error| unusable(path, &error))?;
    let mut document = read(path)?;
    let Some(at) = position(&document, rule) else { return Ok(false) };
    match &mut document["policy"]["rules"] {
        Item::ArrayOfTables(rules) => drop(rules.remove(at)),
        Item::Value(toml_edit::Value::Array(rules)) => drop(rules.remove(at)),
        _ => return Ok(false),
    }
    write(path, &document.to_string())?;
    Ok(true)
}

/// Where the rule is among those of the file.
fn position(document: &DocumentMut, rule: &Rule) -> Option<usize> {
    let rules = document.get("policy")?.as_table_like()?.get("rules")?;
    let is_it = |text: String| toml_edit::de::from_str::<Rule>(&text).is_ok_and(|other| other == *rule);
    match rules {
        Item::ArrayOfTables(rules) => rules.iter().position(|table| is_it(table.to_string())),
        Item::Value(toml_edit::Value::Array(rules)) => rules.iter().position(|value| {
            value.as_inline_table().is_some_and(|table| is_it(table.clone().into_table().to_string()))
        }),
        _ => None,
    }
}

fn inline(item: Item) -> Option<toml_edit::Value> {
    item.into_array_of_tables().ok().map(|tables| toml_edit::Value::Array(tables.into_array()))
}

fn read(path: &Path) -> Result<DocumentMut, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unusable(path, &error)),
    };
    text.parse().map_err(|error: toml_edit::TomlError| {
        let message = error.message().to_owned();
        Failure::usage(format!("{} is not TOML: {message}", path.display()), "correct the file first")
    })
}

/// Written whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    switchboard_config::write_file(path, text.as_bytes()).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(
        format!("{} cannot be used: {error}", path.display()),
        "check the folder, or name another one with SWITCHBOARD_CONFIG_DIR",
    )
}

fn odd(path: &Path) -> Failure {
    Failure::usage(
        format!("policy.rules in {} is no list of tables", path.display()),
        "correct the file first",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn a_rule_comes_and_goes_and_all_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config.toml");
        let narrow = rule(
            r#"allow f/w where path inside ["/a", "~/b"] and n equals 1 if not destructive because "x""#,
        );
        for before in [
            "",
            "# Mine.\n[models.a]\nkind = \"openai\" # it is\n",
            "[policy]\npreset = \"careful\"\n\n[models.a]\n",
            "[[policy.rules]]\naction = \"deny\"\ntool = \"x\"\n\n[limits]\nsteps = 3\n",
            "policy.rules = [{ action = \"deny\", tool = \"x\" }]\n",
        ] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, before).unwrap();
            add(&path, &narrow).unwrap();
            add(&path, &narrow).unwrap();
            let after = std::fs::read_to_string(&path).unwrap();
            for line in before.lines() {
                assert!(line.starts_with("policy.rules") || after.contains(line), "{line} in {after}");
            }
            assert_eq!(after.matches("\"f\"").count(), 1, "{after}");
            add(&path, &rule("ask g/*")).unwrap();
            assert!(remove(&path, &narrow).unwrap());
            assert!(!remove(&path, &narrow).unwrap());
            let after = std::fs::read_to_string(&path).unwrap();
            assert!(!after.contains("\"f\"") && after.contains("\"g\""), "{after}");
            assert!(remove(&path, &rule("ask g/*")).unwrap());
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
        assert!(!remove(&path, &narrow).unwrap(), "there is no file");
        add(&path, &narrow).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "others need not read a new one");
        }
        std::fs::write(&path, "policy = 1").unwrap();
        assert!(add(&path, &narrow).is_err());
        std::fs::write(&path, "[policy").unwrap();
        assert!(add(&path, &narrow).is_err());
    }
}
