//! Whether a cell is green, red by the peer's fault, or red.

use super::data::Fault;
use super::play::Step;

/// How a cell or a server came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    Ok,
    /// Red, with the reason why that is the other's fault.
    Theirs(&'a str),
    /// Red, with what failed.
    Failed(&'a str),
}

impl Verdict<'_> {
    /// As a report has it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Theirs(_) => "theirs",
            Self::Failed(_) => "FAILED",
        }
    }
}

/// The last step of the story.
const LAST: &str = "close";
const FIRST: &str = "connect";

/// What went wrong in a story: the step and why. `None` if it was played to its end with the revision that was
/// expected.
pub(super) fn trouble(steps: &[Step], expected: &str) -> Option<(String, String)> {
    let detail = |step: &Step| step.detail.clone().unwrap_or_default();
    if let Some(failed) = steps.iter().find(|step| !step.ok) {
        return Some((failed.step.clone(), detail(failed)));
    }
    let met = steps.iter().find(|step| step.step == FIRST).map(&detail);
    match (met, steps.last()) {
        (Some(met), _) if met != expected => {
            Some((FIRST.to_owned(), format!("they agreed on {met}, not on {expected}")))
        }
        (Some(_), Some(last)) if last.step == LAST => None,
        (_, last) => {
            let after = last.map_or("nothing".to_owned(), |step| step.step.clone());
            Some((LAST.to_owned(), format!("the client told no more after {after}")))
        }
    }
}

/// Holds what went wrong against a fault that is known; an error says what is not as the file has it.
pub(super) fn excuse(trouble: Option<&(String, String)>, fault: &Fault, log: &str) -> Result<(), String> {
    match trouble {
        None => Err("the fault of the peer is gone; take the cell out of faults.json".to_owned()),
        Some((step, why)) if *step != fault.step => {
            Err(format!("failed in {step}, not in {} as in faults.json: {why}", fault.step))
        }
        Some(_) if !log.contains(&fault.wire) => {
            Err(format!("the log of the wire does not have what proves the fault: {}", fault.wire))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "2026-07-28";

    /// Name, whether it went well, and what was told of it.
    type Line = (&'static str, bool, &'static str);

    fn told(steps: &[Line]) -> Vec<Step> {
        let step = |(step, ok, detail): &Line| Step {
            step: (*step).to_owned(),
            ok: *ok,
            detail: Some((*detail).to_owned()),
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn a_story_must_be_told_to_its_end_with_the_right_revision() {
        let cases: &[(&[Line], Option<&str>)] = &[
            (&[("connect", true, DATE), ("close", true, "")], None),
            (&[("connect", true, "2020-01-01"), ("close", true, "")], Some("connect")),
            (&[("connect", true, DATE), ("list", false, "no"), ("close", true, "")], Some("list")),
            (&[("connect", true, DATE), ("list", true, "")], Some("close")),
            (&[], Some("close")),
        ];
        for (steps, expected) in cases {
            let found = trouble(&told(steps), DATE).map(|(step, _)| step);
            assert_eq!(found.as_deref(), *expected, "{steps:?}");
        }
    }

    #[test]
    fn a_fault_must_still_be_there_and_be_proved() {
        let fault = Fault {
            cells: Vec::new(),
            step: "list".to_owned(),
            reason: "it lists nothing".to_owned(),
            wire: "\"tools\":[]".to_owned(),
        };
        let failed = |step: &str| Some((step.to_owned(), "why".to_owned()));
        let proof = "   1 < {\"tools\":[]}";
        assert_eq!(excuse(failed("list").as_ref(), &fault, proof), Ok(()));
        for (trouble, log) in [(None, proof), (failed("read"), proof), (failed("list"), "")] {
            assert!(excuse(trouble.as_ref(), &fault, log).is_err(), "{trouble:?}");
        }
    }
}
