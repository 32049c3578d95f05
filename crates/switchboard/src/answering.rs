//! Who answers in a session: said before it is asked, and for a run that an earlier process left, the one it asked.

use switchboard_agent::journal::{Event, Selection};
use switchboard_agent::{Router, RunRequest, RunView, Selector as _, Session, visible};

use crate::failure::Failure;
use crate::hosting::Hosting;
use crate::screen::Screen;

/// How many entries of a journal are read at once.
const PAGE: usize = 256;

/// Chooses who answers, and says on `screen` who it is. Whether it is a language model.
///
/// # Errors
/// When the model that was named cannot be used, or another one than the person named would go on with a run that asked
/// a model. Such a run stays as it is.
pub(crate) async fn chosen(
    hosting: &Hosting,
    session: &Session,
    screen: Option<&Screen>,
) -> Result<bool, Failure> {
    let left = session.current();
    let named = left.as_ref().and_then(|run| request(hosting, run)?.model).or(session.record().model);
    let choice = hosting.host.models().select(named.as_deref()).await?;
    if let Some(asked) = left.and_then(|run| asked(hosting, &run))
        && asked != choice.selector.name()
        && !hosting.names_model
    {
        return Err(Failure::usage(
            format!(
                "the interrupted run asked the model {}, which is not the one that would go on with it ({})",
                visible::line(&asked),
                visible::line(choice.selector.name())
            ),
            format!(
                "name it with --model {}, and where it is with --base-url; until then the run stays as it is",
                visible::argument(&asked)
            ),
        ));
    }
    if let (Some(note), Some(screen)) = (&choice.note, screen) {
        screen.note(&visible::line(note));
    }
    Ok(choice.chat.is_some())
}

/// The language model that a run asked last, if it asked one.
pub(crate) fn asked(hosting: &Hosting, run: &RunView) -> Option<String> {
    let (mut after, mut asked) = (run.first_seq.saturating_sub(1), None);
    loop {
        let page = hosting.host.store().entries(&run.session, after, PAGE).ok()?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for entry in page.into_iter().filter(|entry| entry.run.as_ref() == Some(&run.id)) {
            if let Event::Selection(Selection::Asked { selector, .. }) = entry.event {
                asked = Some(selector);
            }
        }
    }
    asked.filter(|asked| asked != Router::new().name())
}

fn request(hosting: &Hosting, run: &RunView) -> Option<RunRequest> {
    let record = hosting.host.store().run(run.id.as_str()).ok().flatten()?;
    serde_json::from_str(&record.options).ok()
}
