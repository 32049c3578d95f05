//! Whether every use of a tool in a conversation has its result, right behind it
//! [spec: client/sampling, Tool Use and Result Balance]. It looks at nothing else in the messages.

use std::collections::BTreeSet;

use super::{CreateMessage, OneOrMany, SamplingContent, SamplingMessage};
use crate::model::content::Role;

impl CreateMessage {
    /// Checks that each message of the assistant which uses tools is followed by one message of the user
    /// that holds their results, each once, and nothing else. No provider takes another conversation.
    ///
    /// # Errors
    /// Which message breaks the rule, and how.
    pub fn check_tool_results(&self) -> Result<(), String> {
        let mut open = BTreeSet::new();
        for (place, message) in self.messages.iter().enumerate() {
            open = follow(&open, message).map_err(|fault| format!("messages/{place}: {fault}"))?;
        }
        match open.first() {
            None => Ok(()),
            Some(id) => Err(format!("the tool use {id:?} has no result")),
        }
    }
}

/// The tool uses that are open after a message.
fn follow<'a>(open: &BTreeSet<&'a str>, message: &'a SamplingMessage) -> Result<BTreeSet<&'a str>, String> {
    let blocks = match &message.content {
        OneOrMany::One(block) => std::slice::from_ref(block),
        OneOrMany::Many(blocks) => blocks,
    };
    let (mut uses, mut results) = (BTreeSet::new(), BTreeSet::new());
    for block in blocks {
        let (ids, id, role) = match block {
            SamplingContent::ToolUse(tool_use) => (&mut uses, &*tool_use.id, Role::Assistant),
            SamplingContent::ToolResult(result) => (&mut results, &*result.tool_use_id, Role::User),
            SamplingContent::Text(_) | SamplingContent::Image(_) | SamplingContent::Audio(_) => continue,
        };
        if message.role != role {
            return Err(format!("the wrong side speaks of the tool use {id:?}"));
        }
        if !ids.insert(id) {
            return Err(format!("the tool use {id:?} is there twice"));
        }
    }
    if let Some(id) = open.symmetric_difference(&results).next() {
        let what = if open.contains(id) { "has no result" } else { "was never made" };
        return Err(format!("the tool use {id:?} {what}"));
    }
    if !results.is_empty() && results.len() != blocks.len() {
        return Err("results of tools stand beside other content".into());
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::CreateMessage;

    #[derive(Deserialize)]
    struct File {
        conversations: Vec<Conversation>,
    }

    #[derive(Deserialize)]
    struct Conversation {
        name: String,
        messages: serde_json::Value,
        /// A part of what is wrong; absent if nothing is.
        fault: Option<String>,
    }

    #[test]
    fn every_use_of_a_tool_has_its_result_right_behind_it() {
        let text = include_str!("../../../tests/data/tool_results.json");
        let file: File = serde_json::from_str(text).unwrap();
        for Conversation { name, messages, fault } in file.conversations {
            let params = serde_json::json!({"messages": messages, "maxTokens": 1}).to_string();
            let asked: CreateMessage = serde_json::from_str(&params).unwrap();
            match (asked.check_tool_results(), fault) {
                (Ok(()), None) => {}
                (Err(found), Some(fault)) => assert!(found.contains(&fault), "{name}: {found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }
}
