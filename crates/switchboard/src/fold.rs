//! Texts in the columns of a terminal: broken between words, measured without their styles.

/// A line broken between its words, what is broken off as far to the right as the line's own text.
pub(crate) fn broken(line: &str, columns: usize) -> String {
    if columns == 0 || width(line) <= columns {
        return line.to_owned();
    }
    let margin = margin_of(line);
    let (first, text) = line.split_at(margin);
    let rest = first.replace(|character: char| !matches!(character, ' ' | '│'), " ");
    let indent = width(&rest);
    let (mut out, mut column) = (first.to_owned(), indent);
    for (index, word) in text.split(' ').enumerate() {
        let wide = width(word);
        if index > 0 && column + 1 + wide > columns && column > indent {
            out.push('\n');
            out.push_str(&rest);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
    out
}

/// Bytes before a line's own text: margins and the mark of an item.
fn margin_of(line: &str) -> usize {
    let text = line.trim_start_matches([' ', '│']);
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let mark = if text.starts_with("• ") {
        "• ".len()
    } else if digits > 0 && text.get(digits..).is_some_and(|rest| rest.starts_with(". ")) {
        digits + 2
    } else {
        0
    };
    line.len() - text.len() + mark
}

/// All lines of a text, each broken between its words. Nothing is broken if there are 0 columns.
pub(crate) fn folded(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| broken(line, columns)).collect::<Vec<_>>().join("\n")
}

/// Two columns: a name, and what is said of it beside it.
pub(crate) fn entry((name, what): (&str, &str), (names, columns): (usize, usize)) -> String {
    let room = columns.saturating_sub(names + 4);
    // On a terminal that is too narrow for two columns nothing is gained by a second one.
    let lines = folded(what, if room < LEAST { 0 } else { room });
    let indent = format!("\n{}", " ".repeat(names + 4));
    let gap = " ".repeat(names.saturating_sub(width(name)) + 2);
    format!("  {name}{gap}{}", lines.replace('\n', &indent)).trim_end().to_owned()
}

/// A text in so many columns, with a mark where something is left out.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    console::truncate_str(text, columns, "…").into_owned()
}

/// The least columns that a text is broken for.
const LEAST: usize = 16;

/// Cells that a text takes on the screen, without its styles.
pub(crate) fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::{broken, entry};

    #[test]
    fn lines_are_broken_between_words() {
        for (line, columns, expected) in [
            ("one two three", 7, "one two\nthree"),
            ("one two three", 2, "one\ntwo\nthree"),
            ("• one two three", 9, "• one two\n  three"),
            ("12. one two", 8, "12. one\n    two"),
            ("│ one two", 6, "│ one\n│ two"),
            ("日本語 文章", 8, "日本語\n文章"),
            ("\u{1b}[1mone two\u{1b}[0m", 4, "\u{1b}[1mone\ntwo\u{1b}[0m"),
            ("fits", 80, "fits"),
        ] {
            assert_eq!(broken(line, columns), expected, "{line:?} in {columns}");
        }
    }

    #[test]
    fn what_is_said_of_a_name_stays_in_its_column() {
        for (columns, expected) in [
            (0, "  /a    one two three four"),
            (80, "  /a    one two three four"),
            (25, "  /a    one two three\n        four"),
            (12, "  /a    one two three four"),
        ] {
            assert_eq!(entry(("/a", "one two three four"), (4, columns)), expected, "{columns}");
        }
    }
}
