//! What waits for the person, asked on the terminal and answered to the session.

use switchboard_agent::desk::{AnswerError, PendingView, Question, Reply};
use switchboard_agent::policy::ConsentReply;
use switchboard_agent::{Session, visible};
use switchboard_client::{ElicitReply, ElicitUrl};
use switchboard_protocol::model::elicitation::{ElicitAction, ElicitForm};

use crate::ask;
use crate::elicit::Desk;
use crate::screen::Screen;
use crate::stdin;

/// Asks and answers, as long as it is asked. `false` if the person left it unanswered: the run is to end.
pub(crate) async fn answer(session: &Session, pending: &PendingView, screen: &Screen) -> bool {
    let reply = tokio::select! {
        biased;
        reply = reply(&pending.question, screen) => reply,
        () = session.answered(&pending.id) => {
            // What stands at the prompt belongs to it: it is read to its end, and counts for nothing.
            screen.line("");
            screen.note("  that is not asked any more; press enter to go on");
            return true;
        }
    };
    let Some(reply) = reply else { return false };
    match session.answer(&pending.id, reply) {
        Ok(()) => {}
        // Somebody was faster, or it took too long.
        Err(AnswerError::Taken(_) | AnswerError::Unknown(_)) => screen.note("  that is not asked any more"),
        Err(error) => screen.warning(&error.to_string()),
    }
    true
}

async fn reply(question: &Question, screen: &Screen) -> Option<Reply> {
    // An approval says where.
    if question.hides_secret() && !matches!(question, Question::Approval(_)) {
        screen.warning("where the next question says ***, a configured secret stands");
    }
    Some(match question {
        Question::Approval(view) => {
            let ConsentReply { shown, choice, rule } = ask::choose(view, screen).await?;
            Reply::Approval { digest: shown, choice, rule }
        }
        Question::Form { server, message, schema, .. } => {
            let form = ElicitForm { message: message.clone(), requested_schema: schema.clone() };
            let (action, content) = split(Desk::unrecorded(server, screen).form(&form).await);
            Reply::Form { action, content }
        }
        Question::Url { server, message, url, .. } => {
            let asked = ElicitUrl { message: message.clone(), url: url.clone() };
            let (action, _) = split(Desk::unrecorded(server, screen).url(&asked).await);
            Reply::Url { action }
        }
        Question::Sampling { server, system, messages, max_tokens, digest, .. } => {
            screen.line(&format!("\n{} wants to ask the model:", screen.strong(server.as_str())));
            for text in system.iter().chain(messages.iter().map(|line| &line.text)) {
                visible::text(text).lines().for_each(|line| screen.line(&format!("  │ {line}")));
            }
            screen.line(&format!("  It gets the answer, of at most {max_tokens} tokens."));
            Reply::Sampling { digest: *digest, allow: yes(screen).await? }
        }
        Question::Roots { server, roots } => {
            screen.line(&format!(
                "\n{} asks for the folders that it may work in:",
                screen.strong(server.as_str())
            ));
            roots.iter().for_each(|root| screen.line(&format!("  │ {}", visible::line(&root.uri))));
            Reply::Roots { allow: yes(screen).await? }
        }
        Question::Login { server, hint } => {
            screen.line(&format!(
                "\n{} wants a login: {}",
                screen.strong(server.as_str()),
                visible::text(hint)
            ));
            Reply::Login { done: yes(screen).await? }
        }
    })
}

fn split(reply: ElicitReply) -> (ElicitAction, Option<serde_json::Map<String, serde_json::Value>>) {
    match reply {
        ElicitReply::Accept(serde_json::Value::Object(content)) => (ElicitAction::Accept, Some(content)),
        ElicitReply::Accept(_) => (ElicitAction::Accept, None),
        ElicitReply::Decline => (ElicitAction::Decline, None),
        ElicitReply::Cancel => (ElicitAction::Cancel, None),
    }
}

/// Nothing if the person left.
async fn yes(screen: &Screen) -> Option<bool> {
    let _one_at_a_time = ask::turn().await;
    let _still = screen.still();
    loop {
        screen.ask(&screen.strong("  [y] allow   [n] deny: "));
        let line = stdin::line().await?;
        screen.answered();
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => screen.line("  Answer y or n."),
        }
    }
}
