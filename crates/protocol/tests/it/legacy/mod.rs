//! The adapter of the legacy revisions, against the published schema of each.

mod downgrade_error;
mod downgrade_list;
mod downgrade_properties;
mod downgrade_result;
mod handshake;
mod mark;
mod question;
mod question_asked;
mod question_hostile;
mod upgrade;
