//! The meaning of an event of a link: an input of the core, or effects that do not depend on its state.

use protomcp_envelope::Msg;
use protomcp_link::{Closed, Event, Notice, Phase, ReloadError};

use crate::catalog::registration::Registration;
use crate::core::facts::Facts;
use crate::core::io::{Effect, Input};
use crate::from_tool::list_control;
use crate::from_tool::questions::{Asked, Question};
use crate::generation::Generation;

/// Translates an event of a process. Events of a process that is no longer in service are ignored.
pub(super) fn translate(
    generation: Generation,
    event: Event,
    facts: &impl Facts,
    fx: &mut Vec<Effect>,
) -> Option<Input> {
    let features = facts.features(generation)?;
    match event {
        Event::Ready(handshake) if handshake.phase == Phase::Reload => {
            fx.push(Effect::SetMiddleware(generation, handshake.middleware.clone()));
            let registered = Registration {
                tools: handshake.tools.map(Into::into),
                middleware: handshake.middleware,
                in_place: features.reloads_in_place,
                structured: features.structured,
                ..Registration::default()
            };
            return Some(Input::Reloaded(generation, registered));
        }
        Event::ReloadFailed(ReloadError::Refused(why)) => return Some(Input::NotReloaded(generation, Some(why))),
        Event::ReloadFailed(_) => return Some(Input::NotReloaded(generation, None)),
        Event::Listed(tools) => return Some(Input::Listed(generation, tools)),
        Event::LateMiddleware(middleware) => {
            // The process may have registered it before the dispatcher knew the process.
            fx.push(Effect::AddMiddleware(generation, middleware.clone()));
            return Some(Input::Intercepts(generation, middleware));
        }
        Event::Request { id, message, for_call, question } => match Asked::read(message) {
            Ok(asked) => fx.push(Effect::Ask(generation, Question { id, for_call, fields: question, asked })),
            Err(message) => {
                let command = list_control::command(message)?;
                let session = facts.list_scope(generation, &for_call);
                return Some(Input::Control { generation, session, command, reply: Some(id) });
            }
        },
        Event::Notification { message, for_call } => return notification(generation, message, for_call, fx),
        Event::Noticed(Notice::LateAnswer { id, kind }) => {
            tracing::debug!(%generation, id, kind, "an answer came too late");
            // After these two the handler goes on.
            if !matches!(kind, "progress" | "create_task") {
                fx.push(Effect::AnsweredLate(generation, id));
            }
        }
        Event::Noticed(Notice::Undecoded { reason, count }) => list_control::refused(&reason, count),
        Event::Noticed(Notice::Silent { time, requests }) => {
            tracing::warn!("the tool process has not answered for {time:?}; waiting requests: {requests}");
        }
        // A process whose link is lost cannot serve; its exit is a later input.
        Event::Closed(reason) => {
            match &reason {
                Closed::Silent(_) => tracing::warn!("{reason}, and no request runs there; stopping it"),
                _ => tracing::debug!(%generation, %reason, "the link closed"),
            }
            fx.push(Effect::Stop(generation));
        }
        other => tracing::debug!(%generation, event = ?other, "no effect"),
    }
    None
}

fn notification(generation: Generation, message: Msg, for_call: String, fx: &mut Vec<Effect>) -> Option<Input> {
    match message {
        // The process sent it before it was in service.
        Msg::Log(message) => fx.push(Effect::Log { generation, message, for_call }),
        Msg::SdkInfo(_) => {
            tracing::debug!(%generation, "the process announces itself too late for it to count");
            fx.push(Effect::SendBridgeInfo(generation));
        }
        Msg::ResourceChanged(changed) => fx.push(Effect::ResourceUpdated(changed.uri)),
        Msg::ElicitationComplete(page) => fx.push(Effect::ElicitationComplete(page.elicitation_id)),
        message @ (Msg::ResourceListChanged(_) | Msg::PromptListChanged(_)) => {
            return Some(Input::Renewed(generation, list_control::renewed(&message)));
        }
        other => tracing::debug!(%generation, message = ?other, "no effect"),
    }
    None
}
