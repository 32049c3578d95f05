//! The processes of a server: those that carry the variable with which it was started.

use std::fs;

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) name: String,
}

/// What runs now; nothing where the system has no `/proc`.
pub(super) fn running(variable: &str, value: &str) -> Vec<Process> {
    let mark = format!("{variable}={value}");
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let running = processes.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let marked = environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        if marked { process(id, &stat) } else { None }
    });
    running.collect()
}

/// Reads `id (name) state parent group …`; the name may hold anything.
fn process(id: u32, stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_whitespace().skip(1).map(str::parse);
    let (parent, group) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Process { id, parent, group, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_move_the_fields() {
        let process = process(7, "7 (a) b (c)) S 3 5 5 0 -1").unwrap();
        assert_eq!((process.parent, process.group, process.name.as_str()), (3, 5, "a) b (c)"));
    }

    #[test]
    fn only_what_carries_the_variable_is_found() {
        assert!(running("INTEROP_NO_SUCH_VARIABLE", "1").is_empty());
    }
}
