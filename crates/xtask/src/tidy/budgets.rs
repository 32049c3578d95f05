//! Budgets: how long a file and a function may be. Test code is free.
//!
//! A file is counted with its comments and blank lines, a function from its signature to its closing brace.

use std::ops::RangeInclusive;

use syn::spanned::Spanned as _;
use syn::visit::Visit;

use super::syntax::Source;
use crate::finding::Finding;

pub(super) const SOFT_FILE: &str = "soft-file-budget";
pub(super) const SOFT_FUNCTION: &str = "soft-function-budget";

/// Soft and hard limit, in lines.
const FILE: Budget = Budget { soft: 500, hard: 800 };
const FUNCTION: Budget = Budget { soft: 50, hard: 80 };

struct Budget {
    soft: usize,
    hard: usize,
}

/// Findings break the hard limit, notes the soft one.
pub(super) struct Outcome {
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<Finding>,
}

pub(super) fn check(source: &Source<'_>) -> Outcome {
    let mut outcome = Outcome { findings: Vec::new(), notes: Vec::new() };
    if source.file.is_test() {
        return outcome;
    }
    let path = &source.file.path;
    let lines = source.lines_without_tests();
    if lines > FILE.hard {
        let what = format!("{lines} lines, the limit is {}; split it by what it does", FILE.hard);
        outcome.findings.push(Finding::new(path, 1, "file-budget", what));
    } else if lines > FILE.soft {
        outcome.notes.push(Finding::new(path, 1, SOFT_FILE, format!("{lines} lines of {}", FILE.soft)));
    }
    let mut functions = Functions(Vec::new());
    functions.visit_file(&source.tree);
    for Function { name, lines } in functions.0 {
        let (start, length) = (*lines.start(), lines.count());
        if source.is_test(start) {
            continue;
        }
        if length > FUNCTION.hard {
            let what =
                format!("`{name}` has {length} lines, the limit is {}; give its steps names", FUNCTION.hard);
            outcome.findings.push(Finding::new(path, start, "function-budget", what));
        } else if length > FUNCTION.soft {
            let what = format!("`{name}` has {length} lines of {}", FUNCTION.soft);
            outcome.notes.push(Finding::new(path, start, SOFT_FUNCTION, what));
        }
    }
    outcome
}

struct Function {
    name: String,
    lines: RangeInclusive<usize>,
}

struct Functions(Vec<Function>);

impl Functions {
    fn push(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = signature.span().start().line..=block.span().end().line;
        self.0.push(Function { name: signature.ident.to_string(), lines });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.push(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.push(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.push(&function.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    /// Rules of the findings, then rules of the notes.
    fn check_text(path: &str, text: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        let outcome = check(&Source::parse(&file).unwrap());
        let rules = |list: &[Finding]| list.iter().map(|finding| finding.rule).collect::<Vec<_>>();
        (rules(&outcome.findings), rules(&outcome.notes))
    }

    /// A function of exactly that many lines.
    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_may_have_fifty_lines_and_must_not_have_more_than_eighty() {
        assert_eq!(check_text("a.rs", &function(50)), (vec![], vec![]));
        assert_eq!(check_text("a.rs", &function(51)), (vec![], vec![SOFT_FUNCTION]));
        assert_eq!(check_text("a.rs", &function(80)), (vec![], vec![SOFT_FUNCTION]));
        assert_eq!(check_text("a.rs", &function(81)), (vec!["function-budget"], vec![]));
    }

    #[test]
    fn methods_and_default_methods_count_and_attributes_do_not() {
        let documented = format!("{}{}", "/// Why.\n".repeat(60), function(50));
        assert_eq!(check_text("a.rs", &documented), (vec![], vec![]));
        let method = format!("impl A {{\n{}}}\n", function(81));
        assert_eq!(check_text("a.rs", &method), (vec!["function-budget"], vec![]));
        let default = format!("trait A {{\n{}}}\n", function(81));
        assert_eq!(check_text("a.rs", &default), (vec!["function-budget"], vec![]));
    }

    #[test]
    fn a_file_may_have_five_hundred_lines_and_must_not_have_more_than_eight_hundred() {
        assert_eq!(check_text("a.rs", &"// x\n".repeat(500)), (vec![], vec![]));
        assert_eq!(check_text("a.rs", &"// x\n".repeat(501)), (vec![], vec![SOFT_FILE]));
        assert_eq!(check_text("a.rs", &"// x\n".repeat(801)), (vec!["file-budget"], vec![]));
    }

    #[test]
    fn test_code_is_free() {
        let module =
            format!("fn g() {{}}\n#[cfg(test)]\nmod tests {{\n{}{}}}\n", function(81), "// x\n".repeat(900));
        assert_eq!(check_text("a.rs", &module), (vec![], vec![]));
        assert_eq!(check_text("a/tests.rs", &function(900)), (vec![], vec![]));
    }
}
