//! Words and what they mean to the router: very little.
//!
//! A text becomes terms. A term is a word's stem, or the quantity that an everyday word speaks of: *warm*,
//! *cold* and *temp* are all `temperature`. The tables are small on purpose: they cover how people ask about
//! things that can be measured, and nothing else.

/// Words that say nothing about which tool is meant.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "d", "did", "do", "does", "for", "from", "get", "gets", "give", "go", "had", "has", "have", "he",
    "hello", "her", "here", "hey", "hi", "how", "i", "if", "in", "into", "is", "it", "its", "just", "know",
    "let", "ll", "m", "many", "may", "me", "much", "my", "of", "ok", "on", "or", "our", "please", "re",
    "right", "s", "see", "she", "should", "show", "so", "some", "t", "tell", "thank", "thanks", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "using", "ve",
    "want", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would",
    "you", "your",
];

/// Words that help to rank but do not say what is asked for.
const WEAK_TERMS: &[&str] = &["current"];

/// Words that speak of one quantity or thing, under one name.
const CONCEPTS: &[(&str, &[&str])] = &[
    (
        "temperature",
        &[
            "temperature",
            "temperatures",
            "temp",
            "temps",
            "warm",
            "warmer",
            "warmth",
            "hot",
            "hotter",
            "heat",
            "cold",
            "colder",
            "cool",
            "cooler",
            "chilly",
            "freezing",
            "coldest",
            "hottest",
            "warmest",
        ],
    ),
    ("humidity", &["humidity", "humid", "damp", "dry", "moist", "moisture"]),
    ("rain", &["rain", "rains", "rainy", "raining", "rainfall", "wet", "precipitation"]),
    ("wind", &["wind", "winds", "windy"]),
    ("pressure", &["pressure", "barometer", "barometric"]),
    ("noise", &["noise", "noisy", "loud", "loudness", "quiet"]),
    ("co2", &["co2", "stuffy"]),
    ("current", &["current", "currently", "now", "today", "moment", "present"]),
    ("min", &["min", "minimum", "lowest", "least", "coldest"]),
    ("max", &["max", "maximum", "highest", "most", "hottest", "warmest"]),
    (
        "calculate",
        &[
            "calculate",
            "calculates",
            "calculation",
            "calculator",
            "compute",
            "computes",
            "arithmetic",
            "math",
            "maths",
            "mathematics",
            "mathematical",
            "evaluate",
            "evaluates",
            "expression",
            "expressions",
        ],
    ),
    ("price", &["price", "prices", "cost", "costs", "expensive", "cheap"]),
    ("distance", &["distance", "distances", "far"]),
    ("weight", &["weight", "weights", "heavy", "weigh", "weighs"]),
    ("speed", &["speed", "speeds", "fast", "slow"]),
    ("place", &["place", "places", "location", "locations", "city", "cities", "town", "towns"]),
    ("metric", &["metric", "celsius", "centigrade"]),
    ("imperial", &["imperial", "fahrenheit"]),
    ("degree", &["degree", "degrees", "deg"]),
    ("radian", &["radian", "radians", "rad"]),
];

/// Broad terms, with what a tool that speaks of them also speaks of, if less surely.
const BROAD: &[(&str, &[&str])] = &[(
    "weather",
    &["temperature", "humidity", "rain", "wind", "snow", "snowy", "sunny", "cloudy", "storm", "stormy"],
)];

/// The term that an arithmetic expression in a question stands for.
pub(super) const CALCULATE: &str = "calculate";

/// The words of a text as they stand: runs of letters and digits, `CamelCase` and `snake_case` taken apart.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for run in text.split(|character: char| !character.is_alphanumeric()) {
        let mut start = 0;
        let mut before: Option<char> = None;
        for (at, character) in run.char_indices() {
            if character.is_uppercase() && before.is_some_and(char::is_lowercase) {
                words.push(&run[start..at]);
                start = at;
            }
            before = Some(character);
        }
        if start < run.len() {
            words.push(&run[start..]);
        }
    }
    words
}

/// The terms of one word: none if it says nothing, two if it speaks of two things, as *coldest* does.
pub(crate) fn terms_of(word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    if word.is_empty() || STOP_WORDS.contains(&word.as_str()) {
        return Vec::new();
    }
    let concepts = CONCEPTS.iter().filter(|(_, words)| words.contains(&word.as_str()));
    let terms: Vec<String> = concepts.map(|(concept, _)| (*concept).to_owned()).collect();
    if terms.is_empty() { vec![stem(&word)] } else { terms }
}

/// The first term of one word.
pub(super) fn term(word: &str) -> Option<String> {
    terms_of(word).into_iter().next()
}

/// The terms of a text, in order, each as often as it stands there.
pub(crate) fn terms(text: &str) -> Vec<String> {
    split(text).into_iter().flat_map(terms_of).collect()
}

/// The broad terms that a term is a part of.
pub(super) fn broader(term: &str) -> impl Iterator<Item = &'static str> {
    BROAD.iter().filter(move |(_, parts)| parts.contains(&term)).map(|(broad, _)| *broad)
}

pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word.to_lowercase().as_str())
}

/// Whether a term helps to rank only.
pub(super) fn is_weak(term: &str) -> bool {
    WEAK_TERMS.contains(&term)
}

/// Takes the usual endings off. Both sides of a comparison go through it, so it need not give words.
fn stem(word: &str) -> String {
    let long = |ending: &str, rest: usize| {
        word.strip_suffix(ending).filter(|stem| stem.chars().count() >= rest).map(str::to_owned)
    };
    if let Some(stem) = long("ies", 2) {
        return stem + "y";
    }
    if word.ends_with("ss") {
        return word.to_owned();
    }
    long("ing", 4).or_else(|| long("ed", 4)).or_else(|| long("s", 3)).unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_style_come_apart() {
        assert_eq!(
            split("get_climate min-temp AbsolutePressure CO2 it's"),
            ["get", "climate", "min", "temp", "Absolute", "Pressure", "CO2", "it", "s"]
        );
    }

    #[test]
    fn everyday_words_become_quantities() {
        assert_eq!(terms("How warm is it right now?"), ["temperature", "current"]);
        assert_eq!(terms("the coldest"), ["temperature", "min"]);
        assert_eq!(terms("the cities' prices"), ["place", "price"]);
        assert_eq!(terms("listing stored queries"), ["list", "stor", "query"]);
    }
}
