//! A Rust file, parsed once for all rules: its syntax tree, its tokens in order, and which lines are test code.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::Visit;

use crate::finding::Finding;
use crate::workspace::TextFile;

/// A word, a sign, or a bracket, with the line that it stands on. Comments and strings have none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// One parsed file.
pub(super) struct Source<'a> {
    pub(super) file: &'a TextFile,
    pub(super) tree: syn::File,
    pub(super) tokens: Vec<Token>,
    /// Lines of inline `#[cfg(test)]` modules.
    tests: Vec<RangeInclusive<usize>>,
}

impl<'a> Source<'a> {
    /// Parses the file, or says as a finding why it cannot be parsed.
    pub(super) fn parse(file: &'a TextFile) -> Result<Self, Finding> {
        let broken = |line: usize, error: &dyn std::fmt::Display| {
            Finding::new(&file.path, line, "syntax", format!("{error}; make it parse, then run tidy again"))
        };
        let stream: TokenStream = file
            .text
            .parse()
            .map_err(|error: proc_macro2::LexError| broken(error.span().start().line, &error))?;
        let tree = syn::parse_file(&file.text).map_err(|error| broken(error.span().start().line, &error))?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let mut modules = TestModules(Vec::new());
        modules.visit_file(&tree);
        Ok(Self { file, tree, tokens, tests: modules.0 })
    }

    /// Whether the line is test code, by its file or by its module.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.file.is_test() || self.tests.iter().any(|module| module.contains(&line))
    }

    /// Lines of the file that are not inside an inline test module.
    pub(super) fn lines_without_tests(&self) -> usize {
        let tests: usize = self.tests.iter().map(|module| module.clone().count()).sum();
        self.file.text.lines().count().saturating_sub(tests)
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line });
                flatten(group.stream(), tokens);
                tokens.push(Token { text: close.to_owned(), line: group.span_close().start().line });
            }
            TokenTree::Ident(word) => tokens.push(Token { text: word.to_string(), line }),
            TokenTree::Punct(sign) => tokens.push(Token { text: sign.as_char().to_string(), line }),
            TokenTree::Literal(_) => tokens.push(Token { text: "\"\"".to_owned(), line }),
        }
    }
}

/// Collects the lines of `#[cfg(test)] mod … { … }`, attributes included.
struct TestModules(Vec<RangeInclusive<usize>>);

impl<'ast> Visit<'ast> for TestModules {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() && module.attrs.iter().any(is_cfg_test) {
            let span = module.span();
            self.0.push(span.start().line..=span.end().line);
        } else {
            syn::visit::visit_item_mod(self, module);
        }
    }
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_leave_out_comments_and_strings_and_keep_their_lines() {
        let file =
            TextFile { path: "a.rs".to_owned(), text: "// x\nfn f() {\n  g(\"todo!()\");\n}\n".to_owned() };
        let source = Source::parse(&file).unwrap();
        let words: Vec<_> = source.tokens.iter().map(|token| (token.text.as_str(), token.line)).collect();
        let expected = [("fn", 2), ("f", 2), ("(", 2), (")", 2), ("{", 2), ("g", 3), ("(", 3), ("\"\"", 3)];
        assert_eq!(words[..expected.len()], expected);
    }

    #[test]
    fn lines_of_an_inline_test_module_are_test_code() {
        let text = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        let file = TextFile { path: "a.rs".to_owned(), text: text.to_owned() };
        let source = Source::parse(&file).unwrap();
        assert_eq!(source.lines_without_tests(), 2);
        assert!(!source.is_test(1));
        assert!(source.is_test(5));
    }

    #[test]
    fn a_file_that_does_not_parse_is_a_finding_with_its_line() {
        let file = TextFile { path: "a.rs".to_owned(), text: "fn f() {}\nfn fn\n".to_owned() };
        let Err(finding) = Source::parse(&file) else { panic!("parsed") };
        assert_eq!((finding.line, finding.rule), (2, "syntax"));
    }
}
