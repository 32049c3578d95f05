//! Processes that a server left behind: those that still carry the variable with which it was started.

use std::fs;

/// What is left, as ids with names; nothing where the system has no `/proc`.
pub(super) fn of(variable: &str, value: &str) -> Vec<String> {
    let mark = format!("{variable}={value}");
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let left = processes.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let marked = environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        marked.then(|| format!("{id} {}", name.trim_end()))
    });
    left.collect()
}
