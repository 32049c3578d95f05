//! Fits a text into a budget of bytes: head and tail stay, the middle goes, and a mark says how much.

/// The share of the budget that the head gets, in percent. Beginnings say more than ends.
const HEAD_PERCENT: usize = 75;

/// The text, and how many bytes were left out. The mark itself is not counted.
pub(super) fn fit(text: &str, bytes: usize) -> (String, Option<usize>) {
    if text.len() <= bytes {
        return (text.to_owned(), None);
    }
    let head = boundary_before(text, bytes * HEAD_PERCENT / 100);
    let tail = boundary_after(text, text.len() - (bytes - bytes * HEAD_PERCENT / 100)).max(head);
    let left_out = tail - head;
    let mark =
        format!("\n[… {left_out} of {} bytes left out here: the limit is {bytes} bytes …]\n", text.len());
    (format!("{}{mark}{}", &text[..head], &text[tail..]), Some(left_out))
}

fn boundary_before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn boundary_after(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
