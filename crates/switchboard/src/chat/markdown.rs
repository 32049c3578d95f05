//! Markdown on a terminal: raw while it is written, laid out as soon as a block is complete.
//!
//! A block that does not fit the screen any more stays as it was written: what has left the screen cannot be written
//! again. Everything is made visible first, so no text can move the cursor.

use clap::builder::styling::{AnsiColor, Color, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use switchboard_agent::visible;

use crate::fold::{broken, width};
use crate::screen::{Screen, rows_above};

/// What a space is that no line is broken at.
const FIRM_SPACE: char = '\u{a0}';

/// A text that is written piece by piece.
pub(super) struct Streaming {
    screen: Screen,
    /// The block that is being written, as it stands on the screen.
    block: String,
    /// Whether the block goes on with code of which the first lines are laid out already.
    amid_code: bool,
    /// What a piece ended with that makes one emoji of two.
    joiner: Option<char>,
}

impl Streaming {
    pub(super) fn new(screen: Screen) -> Self {
        Self { screen, block: String::new(), amid_code: false, joiner: None }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for line in piece.split_inclusive('\n') {
            // How wide a tab is depends on where it stands.
            let before = self.block.chars().next_back().unwrap_or(' ');
            let line = format!("{}{line}", self.joiner.take().map(String::from).unwrap_or_default());
            // What it joins comes with the next piece.
            let (line, joiner) = line
                .strip_suffix(visible::JOINER)
                .map_or((&*line, None), |rest| (rest, Some(visible::JOINER)));
            self.joiner = joiner;
            let shown = visible::text_after(before, line).replace('\t', "    ");
            // Empty lines before a block are the layout's business.
            if self.block.is_empty() && !self.amid_code && shown.trim().is_empty() {
                continue;
            }
            self.write(&shown);
            if self.is_complete() {
                self.end();
            } else if self.is_tall() {
                self.lay_out_code();
            }
        }
    }

    fn write(&mut self, shown: &str) {
        if self.block.is_empty() {
            self.screen.begin_pieces();
        }
        self.block.push_str(shown);
        // What cannot be written over is written once it is laid out.
        if self.screen.moves() {
            self.screen.piece(shown);
        }
    }

    /// A block ends with an empty line, outside of code.
    fn is_complete(&self) -> bool {
        let in_code = in_code(&self.block) != self.amid_code;
        !in_code && (self.block.ends_with("\n\n") || (self.amid_code && self.block.ends_with('\n')))
    }

    /// Whether code is about to leave the screen.
    fn is_tall(&self) -> bool {
        let (rows, columns) = self.screen.size();
        let in_code = in_code(&self.block) != self.amid_code;
        in_code && self.block.ends_with('\n') && rows_above(&self.block, columns) + 4 >= rows
    }

    /// Lays out the first lines of code that goes on.
    fn lay_out_code(&mut self) {
        let block = std::mem::take(&mut self.block);
        let laid_out = self.render(&format!("{}```", self.source(&block)));
        self.replace(&block, &format!("{}\n", laid_out.trim_end()));
        self.amid_code = true;
    }

    /// Nothing more belongs to the block.
    pub(super) fn end(&mut self) {
        let block = std::mem::take(&mut self.block);
        if !block.is_empty() {
            let laid_out = self.render(&self.source(&block));
            self.replace(&block, &laid_out);
        }
        self.amid_code = false;
        self.joiner = None;
    }

    fn source(&self, block: &str) -> String {
        if self.amid_code { format!("```\n{block}") } else { block.to_owned() }
    }

    fn render(&self, source: &str) -> String {
        render(source, (self.screen.has_colours(), self.screen.size().1))
    }

    fn replace(&self, block: &str, laid_out: &str) {
        let written = if self.screen.moves() { block } else { "" };
        self.screen.replace_piece(written, laid_out);
    }
}

/// Whether a fence is open.
fn in_code(block: &str) -> bool {
    let fences = block.lines().filter(|line| line.trim_start().starts_with("```")).count();
    fences % 2 == 1
}

/// The block as the terminal shows it, ending with an empty line. Nothing in it is broken if there are 0 columns.
pub(super) fn render(block: &str, (colours, columns): (bool, usize)) -> String {
    let mut page = Page { colours, columns, ..Page::default() };
    for event in Parser::new_ext(block, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        page.take(event);
    }
    let lines: Vec<String> =
        page.out.trim_end().split('\n').map(|line| broken(line.trim_end(), columns)).collect();
    format!("{}\n\n", lines.join("\n").replace(FIRM_SPACE, " "))
}

const CODE: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));
const LINK: Style = Style::new().underline();

#[derive(Default)]
struct Page {
    colours: bool,
    /// How wide a table may be, if that is known.
    columns: usize,
    out: String,
    /// What a new line begins with, outside in.
    margins: Vec<String>,
    /// The number of the next item of each open list, if it has numbers.
    lists: Vec<Option<u64>>,
    styles: Vec<Style>,
    link: Option<String>,
    table: Option<Table>,
    in_code: bool,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.styled(CODE, &text),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.out.push_str("────────\n\n");
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Strong => self.push_style(Style::new().bold()),
            Tag::Emphasis => self.push_style(Style::new().italic()),
            Tag::Strikethrough => self.push_style(Style::new().strikethrough()),
            Tag::BlockQuote(_) => self.margin("│ "),
            Tag::CodeBlock(kind) => self.begin_code(&kind),
            Tag::List(first) => {
                if !self.out.is_empty() && !self.out.ends_with('\n') {
                    self.break_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::Link { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.push_style(LINK);
            }
            Tag::Table(_) => self.table = Some(Table::default()),
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.in_code = true;
        self.margin("  ");
        if let CodeBlockKind::Fenced(language) = kind
            && !language.is_empty()
        {
            self.styled(Style::new().dimmed(), language);
            self.break_line();
        }
    }

    fn begin_item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.out.push_str(&mark);
        self.margins.push(" ".repeat(mark.chars().count()));
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.pop_style();
                self.gap();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => self.pop_style(),
            TagEnd::Paragraph => self.gap(),
            TagEnd::BlockQuote(_) => {
                self.margins.pop();
                // The last paragraph began a line that nothing came to.
                let end = self.out.trim_end_matches(['\n', ' ', '│']).len();
                self.out.truncate(end);
                self.gap();
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.margins.pop();
                self.gap();
            }
            TagEnd::Item => {
                self.margins.pop();
                let end = self.out.trim_end().len();
                self.out.truncate(end);
                self.break_line();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.gap();
                }
            }
            TagEnd::Link => {
                self.pop_style();
                // Where a link leads is part of what it says.
                if let Some(target) = self.link.take().filter(|target| !self.out.ends_with(target.as_str())) {
                    self.text(&format!(" ({target})"));
                }
            }
            TagEnd::Table => self.lay_out_table(),
            _ => {}
        }
    }

    fn margin(&mut self, mark: &str) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.break_line();
        }
        self.out.push_str(mark);
        self.margins.push(mark.to_owned());
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.out.extend(self.margins.iter().map(String::as_str));
    }

    /// An empty line, unless a list is tight.
    fn gap(&mut self) {
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        if self.lists.is_empty() && self.margins.is_empty() {
            self.out.push_str("\n\n");
        } else {
            self.break_line();
        }
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(style);
        if self.colours {
            self.cell_or_page().push_str(&style.render().to_string());
        }
    }

    fn pop_style(&mut self) {
        self.styles.pop();
        if self.colours {
            let rest: String = self.styles.iter().map(|style| style.render().to_string()).collect();
            let reset = format!("{}{rest}", anstyle_reset());
            self.cell_or_page().push_str(&reset);
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.push_style(style);
        self.text(text);
        self.pop_style();
    }

    fn text(&mut self, text: &str) {
        let firm = FIRM_SPACE.to_string();
        let text = if self.in_code { text.replace(' ', &firm) } else { text.to_owned() };
        let mut lines = text.split('\n');
        if let Some(first) = lines.next() {
            self.cell_or_page().push_str(first);
        }
        for line in lines {
            self.break_line();
            self.out.push_str(line);
        }
    }

    fn cell_or_page(&mut self) -> &mut String {
        match self.table.as_mut().and_then(|table| table.rows.last_mut()).and_then(|row| row.last_mut()) {
            Some(cell) => cell,
            None => &mut self.out,
        }
    }

    fn lay_out_table(&mut self) {
        let Some(Table { rows }) = self.table.take() else { return };
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest =
            |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        let wide = widths.iter().map(|width| width + 2).sum::<usize>();
        if let Some((head, rows)) = rows.split_first()
            && self.columns > 0
            && wide > self.columns + 2
            && !rows.is_empty()
        {
            return self.lay_out_rows(head, rows);
        }
        for (index, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, room) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(room.saturating_sub(width(cell)) + 2));
            }
            self.out.push_str(&line.trim_end_matches(' ').replace(' ', &FIRM_SPACE.to_string()));
            self.break_line();
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.out.push_str(&rule.join("  ").replace(' ', &FIRM_SPACE.to_string()));
                self.break_line();
            }
        }
        self.gap();
    }
}

impl Page {
    /// A table that is wider than the terminal: an item for each row, a line for each cell.
    fn lay_out_rows(&mut self, head: &[String], rows: &[Vec<String>]) {
        for row in rows {
            for (index, (name, cell)) in head.iter().zip(row).enumerate() {
                let mark = if index == 0 { "• " } else { "  " };
                self.out.push_str(&format!("{mark}{name}: {cell}"));
                self.break_line();
            }
        }
        self.gap();
    }
}

fn anstyle_reset() -> clap::builder::styling::Reset {
    clap::builder::styling::Reset
}

#[cfg(test)]
mod tests {
    use super::{Streaming, in_code, render};
    use crate::screen::Screen;

    #[test]
    fn blocks_are_laid_out_for_a_terminal() {
        for (block, expected) in [
            ("# Title", "Title"),
            ("plain *and* **bold** `code`", "plain and bold code"),
            ("one\ntwo", "one\ntwo"),
            ("- a\n- b\n  - c", "• a\n• b\n  • c"),
            ("3. a\n4. b", "3. a\n4. b"),
            ("> quoted\n> twice", "│ quoted\n│ twice"),
            ("```rust\nfn f() {}\n```", "  rust\n  fn f() {}"),
            ("[here](https://example.com)", "here (https://example.com)"),
            ("| a | bb |\n|---|---|\n| ccc | d |", "a    bb\n───  ──\nccc  d"),
        ] {
            assert_eq!(render(block, (false, 0)).trim_end(), expected, "{block}");
        }
    }

    #[test]
    fn code_is_never_broken_and_a_table_that_is_too_wide_becomes_a_list() {
        let table = "| a b c | d |\n|---|---|\n| 1 | two three four |\n| 5 | 6 |";
        let narrow = "• a b c: 1\n  d: two\n  three four\n• a b c: 5\n  d: 6";
        assert_eq!(render(table, (false, 12)).trim_end(), narrow);
        assert_eq!(render(table, (false, 21)).lines().next(), Some("a b c  d"));
        let code = render("```\na long line of code\n```\n\n| a b c | d e f |\n|---|---|\n", (false, 6));
        assert_eq!(code.trim_end(), "  a long line of code\n\na b c  d e f\n─────  ─────");
    }

    #[test]
    fn code_is_one_block_whatever_empty_lines_are_in_it() {
        assert!(in_code("```\na\n\n"));
        assert!(!in_code("```\na\n\n```\n"));
        let mut text = Streaming::new(Screen::stderr());
        text.push("```\na\n");
        text.push("\nb");
        assert_eq!(text.block, "```\na\n\nb");
    }
}
