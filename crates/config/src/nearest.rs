//! Finds the name that was meant.

/// How like a name must be to be offered, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The name that is most like this one, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&known.to_lowercase(), &wanted);
    let best = known.into_iter().map(|known| (likeness(known), known));
    let (likeness, known) = best.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (likeness >= ALIKE).then_some(known)
}
