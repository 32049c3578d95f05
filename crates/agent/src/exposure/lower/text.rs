//! Descriptions: cut where a provider needs it, and with remarks about what a schema no longer says.

/// Stands where the rest of a text was cut off.
const CUT: &str = "… [cut]";

/// The text with the remarks after it, in at most `most` characters, and whether the text itself was cut. Remarks
/// come first: they are about what would otherwise be refused.
pub(super) fn with_remarks(text: &str, remarks: &[String], most: usize) -> (String, bool) {
    let mut tail = String::new();
    for remark in remarks {
        let length = tail.chars().count() + remark.chars().count() + 1;
        // Half of the room is the author's.
        if length <= most / 2 {
            tail.push('\n');
            tail.push_str(remark);
        }
    }
    let room = most - tail.chars().count();
    let (mut text, cut) = cut(text, room);
    if text.is_empty() {
        return (tail.trim_start().to_owned(), cut);
    }
    text.push_str(&tail);
    (text, cut)
}

/// At most `most` characters of a text, with a mark if there were more.
fn cut(text: &str, most: usize) -> (String, bool) {
    // A text of fewer bytes has no more characters.
    if text.len() <= most || text.chars().nth(most).is_none() {
        return (text.to_owned(), false);
    }
    let kept = most.saturating_sub(CUT.chars().count());
    let end = text.char_indices().nth(kept).map_or(text.len(), |(end, _)| end);
    (format!("{}{CUT}", text[..end].trim_end()), true)
}

#[cfg(test)]
mod tests {
    use super::with_remarks;

    #[test]
    fn a_text_is_cut_between_characters() {
        for text in ["é".repeat(2_000), "漢🙂a".repeat(700), "a".repeat(1_025)] {
            let (shown, cut) = with_remarks(&text, &["Remark.".to_owned()], 1_024);
            assert!(cut && shown.chars().count() <= 1_024, "{}", shown.chars().count());
            assert!(shown.ends_with("… [cut]\nRemark."), "{shown}");
        }
        assert_eq!(with_remarks("a", &[], 1_024), ("a".to_owned(), false));
        assert_eq!(with_remarks("", &["B".to_owned()], 1_024), ("B".to_owned(), false));
    }
}
