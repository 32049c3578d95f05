//! What the router can read in a question without understanding it: words, numbers, quoted texts, names,
//! phrases after a preposition, addresses, dates, an arithmetic expression.

use super::expression;
use super::words;

/// Words after which a place or a thing is named.
const PREPOSITIONS: &[&str] = &["in", "at", "near", "around", "for", "of", "from", "to"];

/// Names that are no places or things.
const CALENDAR: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Small words inside names, as in *Rio de Janeiro*.
const INSIDE_NAMES: &[&str] = &["de", "da", "do", "del", "la", "le", "of", "upon", "am", "an", "der"];

/// The most words of a phrase that is not written as a name.
const PHRASE_WORDS: usize = 4;

/// The most words of a question that are read. A longer one holds a text, not only a question; its quoted texts are
/// read whole.
const MOST_WORDS: usize = 200;

/// A question, read.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub(super) text: String,
    /// The words that are not part of the expression or of a quoted text.
    pub(super) words: Vec<Word>,
    pub(super) expression: Option<String>,
    pub(super) quoted: Vec<String>,
    /// Names, the most certain first.
    pub(super) names: Vec<Phrase>,
    pub(super) numbers: Vec<Number>,
    /// Words with `@`.
    pub(super) emails: Vec<String>,
    /// Words with `://`.
    pub(super) urls: Vec<String>,
    /// Words such as `2026-07-28`.
    pub(super) dates: Vec<String>,
}

/// A word as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether something ends before it: a sentence, a comma.
    after_break: bool,
}

/// A run of words that may name something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) text: String,
    /// Whether it is written as a name: with capitals, and not only because the sentence begins with it.
    pub(super) is_name: bool,
}

/// A number and its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) text: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl Question {
    pub(super) fn read(text: &str) -> Self {
        let mut question = Self { text: text.trim().to_owned(), ..Self::default() };
        let rest = question.take_quoted(text);
        let rest = match expression::find(&rest) {
            Some(found) => {
                question.expression = Some(found.expression);
                found.rest
            }
            None => rest,
        };
        let mut after_break = true;
        for raw in rest.split_whitespace().take(MOST_WORDS) {
            let word = raw.trim_matches(|edge: char| !edge.is_alphanumeric());
            if word.contains("://") {
                question.urls.push(raw.trim_end_matches([',', '.', '?', '!']).to_owned());
            } else if word.contains('@') {
                question.emails.push(word.to_owned());
            } else if is_date(word) {
                question.dates.push(word.to_owned());
            } else if !word.is_empty() {
                let text = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
                question.words.push(Word { text: text.to_owned(), after_break });
                after_break = false;
            }
            after_break |= raw.ends_with([',', '.', '?', '!', ';', ':', ')']);
        }
        question.find_numbers();
        question.find_names();
        question
    }

    /// The terms that say what is asked for, with the word that each comes from.
    pub(super) fn terms(&self) -> Vec<(&str, String)> {
        let words = self.words.iter().filter(|word| !is_number(&word.text));
        words
            .flat_map(|word| words::split(&word.text))
            .flat_map(|word| words::terms_of(word).into_iter().map(move |term| (word, term)))
            .collect()
    }

    fn take_quoted(&mut self, text: &str) -> String {
        let mut rest = String::new();
        let mut closing: Option<char> = None;
        let mut inside = String::new();
        let mut before = ' ';
        for character in text.chars() {
            match closing {
                Some(close) if character == close => {
                    self.quoted.push(std::mem::take(&mut inside));
                    rest.push(' ');
                    closing = None;
                }
                Some(_) => inside.push(character),
                None => match character {
                    '"' | '`' => closing = Some(character),
                    '“' | '„' => closing = Some('”'),
                    '«' => closing = Some('»'),
                    '\'' if before.is_whitespace() => closing = Some('\''),
                    other => rest.push(other),
                },
            }
            before = character;
        }
        if closing.is_some() {
            // It never closed, so it was no quotation.
            rest.push_str(&inside);
        }
        self.quoted.retain(|quoted| !quoted.trim().is_empty());
        rest
    }

    fn find_numbers(&mut self) {
        let neighbour =
            |index: Option<usize>| index.and_then(|at| self.words.get(at)).map(|word| word.text.clone());
        let numbers = self.words.iter().enumerate().filter(|(_, word)| is_number(&word.text));
        self.numbers = numbers
            .map(|(at, word)| Number {
                text: word.text.clone(),
                before: neighbour(at.checked_sub(1)),
                after: neighbour(Some(at + 1)),
            })
            .collect();
    }

    fn find_names(&mut self) {
        let mut names = Vec::new();
        let mut phrases = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let length = self.name_length(at);
            if length > 0 {
                let phrase = join(&self.words[at..at + length]);
                // A capital at the beginning of a sentence proves nothing.
                let is_name = at > 0 || length > 1;
                names.push(Phrase { text: phrase, is_name });
            } else if at > 0 && PREPOSITIONS.contains(&self.words[at - 1].text.to_lowercase().as_str()) {
                phrases.extend(self.phrase(at));
            }
            at += length.max(1);
        }
        names.sort_by_key(|name| !name.is_name);
        let certain = names.iter().take_while(|name| name.is_name).count();
        let uncertain = names.split_off(certain);
        self.names = names.into_iter().chain(phrases).chain(uncertain).collect();
    }

    /// How many words from `at` are one name.
    fn name_length(&self, at: usize) -> usize {
        let is_capital = |word: &Word| {
            word.text.chars().next().is_some_and(char::is_uppercase)
                && !words::is_stop_word(&word.text)
                && !CALENDAR.contains(&word.text.to_lowercase().as_str())
        };
        if !self.words.get(at).is_some_and(is_capital) {
            return 0;
        }
        let mut length = 1;
        while let Some(next) = self.words.get(at + length).filter(|next| !next.after_break) {
            let small = INSIDE_NAMES.contains(&next.text.as_str());
            if is_capital(next) {
                length += 1;
            } else if small
                && self.words.get(at + length + 1).is_some_and(|word| !word.after_break && is_capital(word))
            {
                length += 2;
            } else {
                break;
            }
        }
        length
    }

    /// The words from `at` up to a break or a word that says nothing.
    fn phrase(&self, at: usize) -> Option<Phrase> {
        let starts = at + usize::from(self.words[at].text.eq_ignore_ascii_case("the"));
        if self.name_length(starts) > 0 {
            return None;
        }
        let says = |word: &&Word| {
            let weak = words::term(&word.text).is_none_or(|term| words::is_weak(&term));
            !weak && !is_number(&word.text) && !CALENDAR.contains(&word.text.to_lowercase().as_str())
        };
        let rest = self.words.get(starts..).unwrap_or_default();
        let whole = rest
            .iter()
            .enumerate()
            .take_while(|(index, word)| says(word) && (*index == 0 || !word.after_break));
        let length = whole.count().min(PHRASE_WORDS);
        (length > 0).then(|| Phrase { text: join(&rest[..length]), is_name: false })
    }
}

fn join(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.chars().all(|character| character.is_ascii_digit() || character == '.')
        && digits.parse::<f64>().is_ok()
}

fn is_date(word: &str) -> bool {
    let day = word.split(['T', 't']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    matches!(parts[..], [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2)
        && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::Question;

    fn names(text: &str) -> Vec<String> {
        Question::read(text).names.into_iter().map(|name| name.text).collect()
    }

    #[test]
    fn names_are_read_from_capitals_first_and_from_prepositions_second() {
        assert_eq!(names("What's the weather in Paris?"), ["Paris"]);
        assert_eq!(names("what's the weather in paris right now"), ["paris"]);
        assert_eq!(
            names("Weather in Rio de Janeiro and New York, please"),
            ["Rio de Janeiro", "New York", "Weather"]
        );
        assert_eq!(names("Is it raining at the North Sea on Monday?"), ["North Sea"]);
        assert_eq!(names("How warm is it right now?"), [""; 0]);
        assert_eq!(names("for new york tomorrow"), ["new york tomorrow"]);
    }

    #[test]
    fn everything_else_is_read_in_its_own_right() {
        let text = "Send “a b” to me@h.example, 3 copies by 2026-07-28, see https://h.example/x?y=1. 'quoted' it's 2.5";
        let question = Question::read(text);
        assert_eq!(question.quoted, ["a b", "quoted"]);
        assert_eq!(question.emails, ["me@h.example"]);
        assert_eq!(question.dates, ["2026-07-28"]);
        assert_eq!(question.urls, ["https://h.example/x?y=1"]);
        let numbers: Vec<_> = question.numbers.iter().map(|number| number.text.as_str()).collect();
        assert_eq!(numbers, ["3", "2.5"]);
        assert_eq!(question.numbers[0].after.as_deref(), Some("copies"));
        assert_eq!(question.expression, None);
    }
}
