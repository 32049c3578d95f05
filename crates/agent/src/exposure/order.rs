//! The order in which tools are offered: what was offered before keeps its place, what is new comes after it.
//!
//! A provider caches the beginning of a request. A tool that appears in the middle would make it read everything
//! after it again, in every turn; one that goes leaves its place to no other, so that it can come back to it.

use std::collections::HashMap;

/// The places of `names`, which are in their canonical order, after what was offered before; and the names to
/// remember: those of before, gone or not, then the new ones.
pub(super) fn ordered(names: &[&str], before: &[String]) -> (Vec<usize>, Vec<String>) {
    let mut place: HashMap<&str, usize> = HashMap::with_capacity(before.len());
    for (at, name) in before.iter().enumerate() {
        place.entry(name).or_insert(at);
    }
    let mut order: Vec<usize> = (0..names.len()).collect();
    // The sort is stable: new ones stay in their canonical order.
    order.sort_by_key(|at| place.get(names[*at]).copied().unwrap_or(usize::MAX));
    let mut offered: Vec<String> = Vec::with_capacity(before.len());
    for (at, name) in before.iter().enumerate() {
        if place.get(name.as_str()) == Some(&at) {
            offered.push(name.clone());
        }
    }
    let new = order.iter().map(|at| names[*at]).filter(|name| !place.contains_key(name));
    offered.extend(new.map(str::to_owned));
    (order, offered)
}

#[cfg(test)]
mod tests {
    use super::ordered;

    #[test]
    fn what_was_offered_keeps_its_place() {
        for (names, before, order, offered) in [
            (&["a", "b"][..], &[][..], &["a", "b"][..], &["a", "b"][..]),
            (&["a", "b", "c"], &["c", "a"], &["c", "a", "b"], &["c", "a", "b"]),
            (&["b", "d"], &["c", "b", "a"], &["b", "d"], &["c", "b", "a", "d"]),
            (&["a", "b", "c", "d"], &["c", "b", "a", "d"], &["c", "b", "a", "d"], &["c", "b", "a", "d"]),
            (&["a"], &["a", "a"], &["a"], &["a"]),
        ] {
            let before: Vec<String> = before.iter().map(|name| (*name).to_owned()).collect();
            let (places, remembered) = ordered(names, &before);
            let shown: Vec<&str> = places.into_iter().map(|at| names[at]).collect();
            assert_eq!(shown, order);
            assert_eq!(remembered, offered);
        }
    }
}
