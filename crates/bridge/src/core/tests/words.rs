//! Effects in a short form.

use std::fmt::Write;

use protomcp_server::Audience;

use super::*;

/// The words of effects, in their order.
pub(super) fn describe(effects: &[Effect]) -> String {
    let number = |wanted: &Generation| (1..).find(|&number| generation(number) == *wanted).unwrap();
    let mut words = Vec::new();
    for effect in effects {
        let mut word = String::new();
        match effect {
            Effect::Start(generation) => write!(word, "start {}", number(generation)),
            Effect::GiveUp(generation) => write!(word, "give up {}", number(generation)),
            Effect::RequestReload(generation) => write!(word, "ask {}", number(generation)),
            Effect::AwaitIdle(generation) => write!(word, "await {}", number(generation)),
            Effect::HandOver { from: Some(generation) } => write!(word, "hand over from {}", number(generation)),
            Effect::HandOver { from: None } => write!(word, "hand over nothing"),
            Effect::Hold => write!(word, "hold"),
            Effect::ReleaseTo(generation) => write!(word, "release {}", number(generation)),
            Effect::Refuse(why) => write!(word, "refuse: {why}"),
            Effect::Interrupt(generation) => write!(word, "interrupt {}", number(generation)),
            Effect::Stop(generation) => write!(word, "stop {}", number(generation)),
            Effect::Abort(generation) => write!(word, "cut short {}", number(generation)),
            Effect::Publish(snapshot) => {
                let names: Vec<_> = snapshot.base().active().map(|(name, _)| name.as_str()).collect();
                write!(word, "list {}", names.join(","))
            }
            Effect::ToolsChanged(Audience::Everyone) => write!(word, "changed everyone"),
            Effect::ToolsChanged(Audience::Session(_) | Audience::Owner(_)) => write!(word, "changed one"),
            Effect::ResourcesChanged(_) => write!(word, "resources changed"),
            Effect::PromptsChanged(_) => write!(word, "prompts changed"),
            Effect::RequestList(generation, kind) => write!(word, "{kind:?}? {}", number(generation)),
            Effect::Reply { active, .. } => write!(word, "reply {}", active.join(",")),
            Effect::Remove(generation) => write!(word, "remove {}", number(generation)),
            Effect::FirstStarted => write!(word, "first started"),
            Effect::FirstMissing => write!(word, "first missing"),
            Effect::FirstStartFailed => write!(word, "first start failed"),
            Effect::ReplyToTwoReaders(generation) => write!(word, "reply to two readers {}", number(generation)),
            Effect::AddMiddleware(generation, middleware) => {
                write!(word, "add middleware {} to {}", middleware.name, number(generation))
            }
            Effect::SetMiddleware(generation, middleware) => {
                write!(word, "{} middleware of {}", middleware.len(), number(generation))
            }
            Effect::Ask(generation, question) => write!(word, "ask client for {}: {}", number(generation), question.id),
            Effect::Log { message, for_call, .. } => write!(word, "log {} of call {for_call}", message.level),
            Effect::SendBridgeInfo(generation) => write!(word, "bridge info to {}", number(generation)),
            Effect::AnsweredLate(generation, id) => write!(word, "answered late {} {id}", number(generation)),
            Effect::ResourceUpdated(uri) => write!(word, "resource updated {uri}"),
            Effect::ElicitationComplete(id) => write!(word, "elicitation complete {id}"),
            Effect::Report(report) => write!(word, "report {}", kind(report)),
            Effect::ReportCalls(of) => {
                write!(
                    word,
                    "name calls of {}",
                    of.iter().map(|of| number(of).to_string()).collect::<Vec<_>>().join(",")
                )
            }
        }
        .unwrap();
        words.push(word);
    }
    words.join("; ")
}

fn kind(report: &Report) -> String {
    match report {
        Report::Reloaded { in_place: true, .. } => "in place".into(),
        Report::Reloaded { .. } => "reloaded".into(),
        Report::NotStarted { why } => format!("not started: {why}"),
        Report::ReloadFailed { why } => format!("failed: {why}"),
        Report::ReloadWaits => "waits".into(),
        Report::StartGivenUp { .. } => "given up".into(),
        Report::WaitsForCalls { .. } => unreachable!("the driver makes it of the names of calls"),
        Report::TasksAborted { after } => format!("cut short after {after:?}"),
        Report::NotDrained { after } => format!("not drained in {after:?}"),
        Report::NotHandedOver { after } => format!("not handed over in {after:?}"),
        Report::Stuck { .. } => "stuck".into(),
        Report::Crashed { .. } => "crash".into(),
        Report::RestartIn { pause } => format!("restart in {pause:?}"),
        Report::Restarted { .. } => "back".into(),
        Report::RestartFailed { .. } => "restart failed".into(),
        Report::GaveUp { failures } => format!("gave up after {failures}"),
        Report::ControlRejected { .. } => "rejected".into(),
        Report::ListNotReceived => "list not received".into(),
        Report::Definition(_) => "definition".into(),
        Report::Catalog(fault) => fault.clone(),
    }
}
