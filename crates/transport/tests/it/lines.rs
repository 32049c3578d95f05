//! Framing: whatever the reads, the lines are the same.

use bytes::Bytes;
use proptest::prelude::any;
use proptest::{collection, prop_assert, prop_assert_eq, proptest};
use switchboard_transport::{LineTooLong, Lines};

/// The lines of a stream that arrives in these reads; `Err` for each that was too long.
fn collect<'a>(limit: usize, reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Bytes, LineTooLong>> {
    let mut lines = Lines::new(limit);
    let mut seen = Vec::new();
    for read in reads {
        lines.push(read);
        seen.extend(std::iter::from_fn(|| lines.next_line().transpose()));
    }
    seen.extend(lines.remainder().map(Ok));
    seen
}

fn check(text: &str, expected: &[&str]) {
    let bytes = text.as_bytes();
    let expected: Vec<_> = expected.iter().map(|line| Ok(Bytes::copy_from_slice(line.as_bytes()))).collect();
    for cut in 0..=bytes.len() {
        assert_eq!(collect(1024, [&bytes[..cut], &bytes[cut..]]), expected, "{text:?} cut at {cut}");
    }
    assert_eq!(collect(1024, bytes.chunks(1)), expected, "{text:?} byte by byte");
}

#[test]
fn a_line_is_what_stands_between_line_ends_however_it_arrives() {
    check("a\nb\n", &["a", "b"]);
    check("a\r\nb\r\n\r\n\n", &["a", "b", "", ""]);
    check("a\rb\n", &["a\rb"]);
    check("the last one\nhas no end", &["the last one", "has no end"]);
    check("", &[]);
    check(
        "{\"description\":\"读取 🎉\"}\n{\"description\":\"è\u{2028}\"}\n",
        &["{\"description\":\"读取 🎉\"}", "{\"description\":\"è\u{2028}\"}"],
    );
}

#[test]
fn a_long_line_costs_only_itself() {
    let long = "x".repeat(11);
    let text = format!("before\n{long}\nafter\n{}\nlast", "y".repeat(10));
    let expected = vec![
        Ok(Bytes::from_static(b"before")),
        Err(LineTooLong { limit: 10 }),
        Ok(Bytes::from_static(b"after")),
        Ok(Bytes::from("y".repeat(10))),
        Ok(Bytes::from_static(b"last")),
    ];
    for size in 1..text.len() {
        assert_eq!(collect(10, text.as_bytes().chunks(size)), expected, "in reads of {size}");
    }
}

#[test]
fn a_line_larger_than_any_read_arrives_whole_and_with_its_neighbour() {
    let large = format!("{{\"text\":\"{}\"}}", "a".repeat(200_000));
    let stream = format!("{large}\n{{}}\n");
    let lines = collect(8 * 1024 * 1024, stream.as_bytes().chunks(4096));
    assert_eq!(lines, [Ok(Bytes::from(large)), Ok(Bytes::from_static(b"{}"))]);
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(
        stream in "[a\n\r\u{e9}]{0,120}",
        sizes in collection::vec(1..9_usize, 1..20),
        limit in 1..16_usize,
    ) {
        let bytes = stream.as_bytes();
        let mut reads = Vec::new();
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (read, more) = rest.split_at((*size).min(rest.len()));
            reads.push(read);
            rest = more;
        }
        prop_assert_eq!(collect(limit, reads), collect(limit, [bytes]));
    }

    #[test]
    fn no_line_is_longer_than_the_limit(stream in collection::vec(any::<u8>(), 0..400), limit in 1..40_usize) {
        for line in collect(limit, stream.chunks(7)).into_iter().flatten() {
            prop_assert!(line.len() <= limit);
        }
    }
}
