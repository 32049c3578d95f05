//! Sampling as an older revision has it: one block a message and no tools before there were any, no sound
//! before there was any, and no metadata where the revision has no place for it.

use super::{Features, members::describes_object, question::Inexpressible, result::is_mirrored};
use crate::meta::MetaObject;
use crate::model::content::{Annotations, ContentBlock};
use crate::model::sampling::{
    CreateMessage, CreateMessageResult, OneOrMany, SamplingContent, SamplingMessage, ToolResultContent,
};
use crate::model::tool::Tool;

/// The request as this revision has it.
pub(super) fn lower(asked: &CreateMessage, features: &Features) -> Result<CreateMessage, Inexpressible> {
    let mut lowered = asked.clone();
    if features.sampling_tools {
        lowered.tools.iter_mut().flatten().for_each(lower_tool);
        for message in &mut lowered.messages {
            blocks_mut(&mut message.content).iter_mut().for_each(only_structured_objects);
        }
        return Ok(lowered);
    }
    if lowered.tools.is_some() || lowered.tool_choice.is_some() {
        return Err(Inexpressible::new(
            features.revision,
            "a server cannot give a language model tools (tools, toolChoice)",
        ));
    }
    lowered.messages = single_blocks(lowered.messages, features)?;
    Ok(lowered)
}

/// Each block in a message of its own, in order.
fn single_blocks(
    messages: Vec<SamplingMessage>,
    features: &Features,
) -> Result<Vec<SamplingMessage>, Inexpressible> {
    let mut single = Vec::with_capacity(messages.len());
    for (place, SamplingMessage { role, content, .. }) in messages.into_iter().enumerate() {
        for mut block in blocks(content) {
            if let Some(what) = foreign(&block, features) {
                let what = format!("sampling has no {what}, as messages/{place} has");
                return Err(Inexpressible::new(features.revision, what));
            }
            strip(&mut block, features);
            single.push(SamplingMessage { role, content: OneOrMany::One(block), meta: None });
        }
    }
    Ok(single)
}

fn blocks(content: OneOrMany) -> Vec<SamplingContent> {
    match content {
        OneOrMany::One(block) => vec![block],
        OneOrMany::Many(blocks) => blocks,
    }
}

fn blocks_mut(content: &mut OneOrMany) -> &mut [SamplingContent] {
    match content {
        OneOrMany::One(block) => std::slice::from_mut(block),
        OneOrMany::Many(blocks) => blocks,
    }
}

/// The kind of a block that this revision does not know.
fn foreign(block: &SamplingContent, features: &Features) -> Option<&'static str> {
    match block {
        SamplingContent::Text(_) | SamplingContent::Image(_) => None,
        SamplingContent::Audio(_) => (!features.audio).then_some("sound"),
        SamplingContent::ToolUse(_) => (!features.sampling_tools).then_some("use of a tool"),
        SamplingContent::ToolResult(_) => (!features.sampling_tools).then_some("result of a tool"),
    }
}

fn strip(block: &mut SamplingContent, features: &Features) {
    if features.definition_meta {
        return;
    }
    match block {
        SamplingContent::Text(block) => strip_hints(&mut block.annotations, &mut block.meta),
        SamplingContent::Image(block) | SamplingContent::Audio(block) => {
            strip_hints(&mut block.annotations, &mut block.meta);
        }
        SamplingContent::ToolUse(_) | SamplingContent::ToolResult(_) => {}
    }
}

fn strip_hints(annotations: &mut Option<Annotations>, meta: &mut Option<MetaObject>) {
    *meta = None;
    *annotations = annotations.take().map(|hints| Annotations { last_modified: None, ..hints });
    annotations.take_if(|hints| *hints == Annotations::default());
}

// In these revisions structured output is an object, and its schema one of an object.
fn lower_tool(tool: &mut Tool) {
    tool.output_schema = tool.output_schema.take().filter(|schema| describes_object(schema));
}

fn only_structured_objects(block: &mut SamplingContent) {
    let SamplingContent::ToolResult(ToolResultContent { content, structured_content, .. }) = block else {
        return;
    };
    let Some(lost) = structured_content.take_if(|value| !value.get().starts_with('{')) else { return };
    if !is_mirrored(&lost, content) {
        content.push(ContentBlock::text(lost.get()));
    }
}

/// The model's answer as this revision has it: several texts become one, line by line.
pub(super) fn lower_result(
    mut given: CreateMessageResult,
    features: &Features,
) -> Result<CreateMessageResult, String> {
    if features.sampling_tools {
        blocks_mut(&mut given.content).iter_mut().for_each(only_structured_objects);
        return Ok(given);
    }
    let mut blocks = blocks(given.content);
    if let Some(what) = blocks.iter().find_map(|block| foreign(block, features)) {
        return Err(format!(
            "The server speaks revision {}, in which a language model's answer has no {what}",
            features.revision
        ));
    }
    let mut block = if blocks.len() == 1 {
        blocks.remove(0)
    } else {
        let texts: Option<Vec<_>> = blocks
            .iter()
            .map(|block| match block {
                SamplingContent::Text(block) => Some(block.text.as_str()),
                _ => None,
            })
            .collect();
        let texts = texts.ok_or_else(|| {
            format!(
                "The server speaks revision {}, in which a language model's answer is one block; only \
                 texts can be joined",
                features.revision
            )
        })?;
        SamplingContent::text(texts.join("\n"))
    };
    strip(&mut block, features);
    given.content = OneOrMany::One(block);
    Ok(given)
}
