//! Reads the arguments of a tool from a question, by the tool's schema.
//!
//! Whatever is read is used once. Nothing is invented: a required parameter that cannot be read is missing.

use serde_json::{Map, Number as JsonNumber, Value};

use super::question::{Number, Phrase, Question};
use super::schema::{Kind, Parameter};
use super::words;

/// What was read for one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Filled {
    pub(super) arguments: Map<String, Value>,
    pub(super) missing: Vec<Parameter>,
    /// The words of the question that became arguments, in lower case.
    pub(super) used_words: Vec<String>,
    pub(super) used_expression: bool,
    /// What the question names and no argument took.
    pub(super) unused_names: Vec<String>,
}

/// Parts of a question that are still free.
struct Reader<'a> {
    question: &'a Question,
    parameters: &'a [Parameter],
    names: Vec<&'a Phrase>,
    quoted: Vec<&'a str>,
    numbers: Vec<&'a Number>,
    expression: Option<&'a str>,
    filled: Filled,
}

/// Reads the arguments. `own_terms` are the words of the tool's name.
pub(super) fn fill(question: &Question, parameters: &[Parameter], own_terms: &[String]) -> Filled {
    let mut reader = Reader {
        question,
        parameters,
        names: question.names.iter().collect(),
        quoted: question.quoted.iter().map(String::as_str).collect(),
        numbers: question.numbers.iter().collect(),
        expression: question.expression.as_deref(),
        filled: Filled::default(),
    };
    reader.drop_choices();
    for parameter in parameters {
        match reader.read(parameter, own_terms) {
            Some(value) => {
                reader.filled.arguments.insert(parameter.name.clone(), value);
            }
            None if parameter.required => match &parameter.default {
                Some(default) => {
                    reader.filled.arguments.insert(parameter.name.clone(), default.clone());
                }
                None => reader.filled.missing.push(parameter.clone()),
            },
            None => {}
        }
    }
    let unused = reader.names.iter().filter(|name| name.is_name).map(|name| name.text.clone());
    reader.filled.unused_names = unused.collect();
    reader.filled
}

impl<'a> Reader<'a> {
    /// A choice such as *in degrees* names no place.
    fn drop_choices(&mut self) {
        let mut choices: Vec<String> = Vec::new();
        for parameter in self.parameters {
            match &parameter.kind {
                Kind::OneOf(values) => {
                    choices.extend(values.iter().filter_map(Value::as_str).flat_map(words::terms));
                }
                Kind::Flag => choices.extend(words::terms(&parameter.name)),
                _ => {}
            }
        }
        self.names.retain(|name| !words::terms(&name.text).iter().all(|term| choices.contains(term)));
    }

    fn read(&mut self, parameter: &Parameter, own_terms: &[String]) -> Option<Value> {
        match &parameter.kind {
            Kind::OneOf(values) => self.choice(values, parameter.required),
            Kind::Flag => self.flag(parameter),
            Kind::Number | Kind::Integer => self.number(parameter),
            Kind::Text => self.text(parameter, own_terms).map(Value::String),
            Kind::Other => None,
        }
    }

    fn choice(&mut self, values: &[Value], required: bool) -> Option<Value> {
        if let ([only], true) = (values, required) {
            return Some(only.clone());
        }
        let terms = self.question.terms();
        for value in values {
            let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let wanted = words::terms(&name);
            let all =
                !wanted.is_empty() && wanted.iter().all(|term| terms.iter().any(|(_, asked)| asked == term));
            if all {
                let used = terms.iter().filter(|(_, term)| wanted.contains(term));
                self.filled.used_words.extend(used.map(|(word, _)| word.to_lowercase()));
                return Some(value.clone());
            }
        }
        None
    }

    fn flag(&mut self, parameter: &Parameter) -> Option<Value> {
        let wanted = words::terms(&parameter.name);
        let words = &self.question.words;
        let at = words
            .iter()
            .position(|word| words::term(&word.text).is_some_and(|term| wanted.contains(&term)))?;
        let before = at.checked_sub(1).map(|before| words[before].text.to_lowercase());
        self.filled.used_words.push(words[at].text.to_lowercase());
        Some(Value::Bool(!matches!(before.as_deref(), Some("no" | "not" | "without"))))
    }

    fn number(&mut self, parameter: &Parameter) -> Option<Value> {
        let wanted = words::terms(&parameter.name);
        let names_it = |word: &Option<String>| {
            word.as_deref().and_then(words::term).is_some_and(|term| wanted.contains(&term))
        };
        let by_name =
            self.numbers.iter().position(|number| names_it(&number.before) || names_it(&number.after));
        let numeric = |parameter: &&Parameter| {
            parameter.required && matches!(parameter.kind, Kind::Number | Kind::Integer)
        };
        let open = self.parameters.iter().filter(numeric).count() - self.filled_numbers();
        // In the order of the schema, but only if there are exactly as many as are wanted.
        let by_order = (parameter.required && open == self.numbers.len()).then_some(0);
        let number = self.numbers.get(by_name.or(by_order)?)?;
        let value = json_number(&number.text, parameter.kind == Kind::Integer)?;
        let text = number.text.clone();
        self.numbers.retain(|number| number.text != text);
        self.filled.used_words.push(text);
        Some(Value::Number(value))
    }

    fn filled_numbers(&self) -> usize {
        let numeric = |parameter: &&Parameter| {
            parameter.required
                && matches!(parameter.kind, Kind::Number | Kind::Integer)
                && self.filled.arguments.contains_key(&parameter.name)
        };
        self.parameters.iter().filter(numeric).count()
    }

    fn text(&mut self, parameter: &Parameter, own_terms: &[String]) -> Option<String> {
        let role = Role::of(parameter);
        match role {
            Role::Expression => {
                let expression = self.expression.take().or_else(|| self.take_quoted())?;
                self.filled.used_expression = self.question.expression.is_some();
                Some(expression.to_owned())
            }
            Role::Email => self.question.emails.first().cloned(),
            Role::Url => self.question.urls.first().cloned(),
            Role::Date => self.question.dates.first().cloned(),
            Role::Place => {
                // *The city* says what is wanted, not which one.
                let own = words::terms(&parameter.name);
                self.names.retain(|name| !words::terms(&name.text).iter().all(|term| own.contains(term)));
                self.take_quoted().map(str::to_owned).or_else(|| self.take_name(true))
            }
            Role::Query => {
                let rest = self.take_quoted().map(str::to_owned).or_else(|| self.rest_of_question(own_terms));
                rest.filter(|_| parameter.required)
            }
            Role::Anything if parameter.required => {
                self.take_quoted().map(str::to_owned).or_else(|| self.take_name(false))
            }
            Role::Anything => None,
        }
    }

    fn take_quoted(&mut self) -> Option<&'a str> {
        if self.quoted.is_empty() { None } else { Some(self.quoted.remove(0)) }
    }

    /// The next name; what only may be one is taken for places.
    fn take_name(&mut self, uncertain: bool) -> Option<String> {
        let at = self.names.iter().position(|name| name.is_name || uncertain)?;
        let name = self.names.remove(at);
        self.filled.used_words.extend(name.text.split_whitespace().map(str::to_lowercase));
        Some(name.text.clone())
    }

    /// The question without the words at its beginning that only say what to do.
    fn rest_of_question(&mut self, own_terms: &[String]) -> Option<String> {
        let says = |word: &&str| words::terms(word).iter().any(|term| !own_terms.contains(term));
        let words: Vec<&str> = self.question.text.split_whitespace().collect();
        let start = words.iter().position(says)?;
        let rest = &words[start..];
        let plain = |word: &&str| word.trim_matches(|edge: char| !edge.is_alphanumeric()).to_lowercase();
        self.filled.used_words.extend(rest.iter().map(plain));
        Some(rest.join(" ").trim_end_matches(['?', '!', '.']).to_owned())
    }
}

fn json_number(text: &str, integer: bool) -> Option<JsonNumber> {
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) if integer => None,
        Err(_) => text.parse::<f64>().ok().and_then(JsonNumber::from_f64),
    }
}

/// What a text is for, as its name and its format say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Expression,
    Email,
    Url,
    Date,
    Place,
    Query,
    Anything,
}

impl Role {
    fn of(parameter: &Parameter) -> Self {
        match parameter.format.as_deref() {
            Some("email") => return Self::Email,
            Some("uri" | "url") => return Self::Url,
            Some("date" | "date-time") => return Self::Date,
            _ => {}
        }
        let name = words::terms(&parameter.name);
        let has = |wanted: &[&str]| name.iter().any(|term| wanted.contains(&term.as_str()));
        if has(&[words::CALCULATE, "formula", "equation"]) {
            Self::Expression
        } else if has(&["email", "mail"]) {
            Self::Email
        } else if has(&["url", "uri", "link"]) {
            Self::Url
        } else if has(&["date", "day", "since", "until"]) {
            Self::Date
        } else if has(&["place", "region", "country", "area", "address", "station"]) {
            Self::Place
        } else if has(&["query", "q", "search", "text", "keyword", "question", "prompt", "message", "input"])
        {
            Self::Query
        } else {
            Self::Anything
        }
    }
}
