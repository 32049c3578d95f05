//! Files with variables, one `NAME=VALUE` a line.

/// Reads a file. Lines may begin with `export`, values may be in quotation marks, and `#` begins a comment. Nothing in
/// a value is replaced but `\n`, `\"` and `\\` in double quotation marks.
///
/// # Errors
/// The number of a line that is none of this.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut pairs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(index + 1);
        }
        pairs.push((name.to_owned(), value_of(value.trim()).ok_or(index + 1)?));
    }
    Ok(pairs)
}

fn value_of(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix('\'') {
        let (value, rest) = rest.split_once('\'')?;
        return is_comment(rest).then(|| value.to_owned());
    }
    if let Some(rest) = text.strip_prefix('"') {
        return quoted(rest);
    }
    let end = text.find(" #").unwrap_or(text.len());
    Some(text[..end].trim_end().to_owned())
}

fn quoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return is_comment(chars.as_str()).then_some(value),
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                escaped @ ('"' | '\\' | '$') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
}

fn is_comment(rest: &str) -> bool {
    rest.trim().is_empty() || rest.trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lines_are_names_and_values() {
        for (line, pairs) in [
            ("A=1", Ok(vec![("A", "1")])),
            ("export A = x y ", Ok(vec![("A", "x y")])),
            ("A='$B # c' # d", Ok(vec![("A", "$B # c")])),
            (r#"A="a\nb\"c\\" "#, Ok(vec![("A", "a\nb\"c\\")])),
            ("A=x # y\n\n# z\nB=", Ok(vec![("A", "x"), ("B", "")])),
            ("A=a#b", Ok(vec![("A", "a#b")])),
            ("A=1\nnonsense", Err(2)),
            ("A='open", Err(1)),
            ("=x", Err(1)),
        ] {
            let own = |pairs: Vec<(&str, &str)>| {
                pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
            };
            assert_eq!(parse(line), pairs.map(own), "{line}");
        }
    }
}
