//! Thinking that stands inline.

use proptest::prelude::any;
use proptest::proptest;

use super::super::think::{Piece, ThinkSplitter};

proptest! {
    #[test]
    fn thinking_is_found_however_the_text_is_cut(
        text in "( |\n)?(<think>)?[a-c<>/]{0,6}(</think>)?\n?[a-c<]{0,6}",
        cuts in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let split = |chunks: &[String]| {
            let (mut shown, mut thought) = (String::new(), String::new());
            let mut splitter = ThinkSplitter::default();
            let mut pieces: Vec<Piece> = chunks.iter().flat_map(|chunk| splitter.push(chunk)).collect();
            pieces.extend(splitter.finish());
            for piece in pieces {
                match piece {
                    Piece::Text(text) => shown.push_str(&text),
                    Piece::Thinking(text) => thought.push_str(&text),
                }
            }
            (shown, thought)
        };
        let mut chunks = vec![String::new()];
        for (position, letter) in text.chars().enumerate() {
            if cuts[position % cuts.len()] {
                chunks.push(String::new());
            }
            chunks.last_mut().unwrap().push(letter);
        }
        assert_eq!(split(&chunks), split(&[text]));
    }
}
