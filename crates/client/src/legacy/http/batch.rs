//! Several messages in one array, which one revision has [spec: basic, Batching].

use std::collections::VecDeque;

use bytes::Bytes;
use switchboard_protocol::era::legacy::batch;

/// Messages in one array.
const MESSAGES: usize = 1024;

/// The messages in what came in one piece; several only where the revision has batches. What is no batch is
/// one message, or whoever reads it says why not.
pub(super) fn split(piece: Bytes, batches: bool) -> VecDeque<Bytes> {
    let is_batch = batches && piece.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if is_batch
        && let Ok(text) = std::str::from_utf8(&piece)
        && let Ok(messages) = batch::split(text, MESSAGES)
    {
        return messages.iter().map(|message| piece.slice_ref(message.get().as_bytes())).collect();
    }
    VecDeque::from([piece])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{MESSAGES, split};

    fn check(piece: &str, batches: bool, expected: &[&str]) {
        let messages = split(Bytes::from(piece.to_owned()), batches);
        let messages: Vec<_> = messages.iter().map(|message| String::from_utf8_lossy(message)).collect();
        assert_eq!(messages, expected, "{piece} {batches}");
    }

    #[test]
    fn several_messages_come_in_one_piece_only_where_there_are_batches() {
        check(r#" [{"a":1}, {"b":[2]}] "#, true, &[r#"{"a":1}"#, r#"{"b":[2]}"#]);
        check("[]", true, &[]);
        check("[[{}]]", true, &["[{}]"]);
        for (piece, batches) in [("[{}]", false), ("[{}", true), ("{}", true), ("nonsense", true)] {
            check(piece, batches, &[piece]);
        }
    }

    #[test]
    fn an_array_of_too_many_messages_is_none() {
        let array = |count| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(split(array(MESSAGES).into(), true).len(), MESSAGES);
        check(&array(MESSAGES + 1), true, &[&array(MESSAGES + 1)]);
    }
}
