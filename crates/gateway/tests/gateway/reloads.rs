//! Versions of a server that take each other's place.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_gateway::{Filter, Gateway, Sharing, Upstream, Watch};
use protomcp_server::Context;
use protomcp_testing::Seen;
use protomcp_transport::{boxed::Boxed, memory};
use protomcp_typed::{Prompt, Registry, Resource, Tool, ToolError};
use protomcp_types::{Elicit, ElicitAction, ElicitResult, JsonObject, Level, PromptMessage, RawJson, Role};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::lists::tools;
use crate::stage::{ERAS, call, client, connect, gateway, run};

/// A server with a version, and its processes.
#[derive(Clone)]
struct Program {
    version: Arc<Mutex<Version>>,
    started: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    registries: Arc<Mutex<Vec<Registry>>>,
    serving: Arc<Mutex<Vec<AbortHandle>>>,
    /// Watched, and never changed: tests reload by a method.
    folder: Arc<tempfile::TempDir>,
}

/// Counts while it runs.
struct Process(Arc<AtomicUsize>);

impl Process {
    fn new(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(running))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone, Copy)]
enum Version {
    Works(u32),
    Ends,
    Hangs,
}

impl Program {
    fn new() -> Self {
        Self {
            version: Arc::new(Mutex::new(Version::Works(1))),
            started: Arc::default(),
            running: Arc::default(),
            registries: Arc::default(),
            serving: Arc::default(),
            folder: Arc::new(tempfile::tempdir().unwrap()),
        }
    }

    fn save(&self, gateway: &Gateway, version: Version) {
        *self.version.lock().unwrap() = version;
        gateway.reload();
    }

    fn upstream(&self) -> Upstream {
        let this = self.clone();
        let upstream = Upstream::new("server", move || {
            let this = this.clone();
            async move {
                this.started.fetch_add(1, Ordering::SeqCst);
                let (ours, theirs) = memory::pair();
                let version = *this.version.lock().unwrap();
                match version {
                    Version::Ends => drop(theirs),
                    Version::Hangs => {
                        tokio::spawn(async move {
                            tokio::time::sleep(Duration::from_secs(60)).await;
                            drop(theirs);
                        });
                    }
                    Version::Works(number) => {
                        let registry = registry(number);
                        this.registries.lock().unwrap().push(registry.clone());
                        let process = Process::new(&this.running);
                        let serving = tokio::spawn(async move {
                            registry.serve(theirs).await.unwrap();
                            drop(process);
                        });
                        this.serving.lock().unwrap().push(serving.abort_handle());
                    }
                }
                Ok(Boxed::new(ours))
            }
        });
        upstream.watch(Watch::directory(self.folder.path(), Filter::new()))
    }

    fn counts(&self) -> (usize, usize) {
        (self.started.load(Ordering::SeqCst), self.running.load(Ordering::SeqCst))
    }
}

#[test]
fn the_next_version_serves_where_the_first_does_not_start() {
    for (ours, theirs) in ERAS {
        run(async {
            let program = Program::new();
            *program.version.lock().unwrap() = Version::Ends;
            let gateway = gateway().upstream(program.upstream().mode(theirs)).open().await.unwrap();
            let session = connect(&gateway, &client().mode(ours)).await;
            let down = session.list_tools(None).await.unwrap_err();
            assert!(down.to_string().contains("is down"), "{down}");
            program.save(&gateway, Version::Works(2));
            while session.list_tools(None).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(!tools(&session).await.is_empty());
        });
    }
}

fn registry(version: u32) -> Registry {
    let slow = move || async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        format!("slow v{version}")
    };
    let ask = move |context: Context| async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let form = Elicit::form(format!("from v{version}"), schema);
        let answer = context.ask::<Elicit>(&form).await.map_err(|error| ToolError::new(error.to_string()))?;
        Ok::<_, ToolError>(format!("{:?} v{version}", answer.action))
    };
    let log = move |context: Context| async move {
        context.log(Level::Debug, None, &RawJson::text(&format!("details of v{version}")));
        "logged"
    };
    let mut builder = Registry::builder("server", format!("{version}.0"))
        .tool(Tool::new("version", "Names it").handler(move || async move { format!("v{version}") }))
        .tool(Tool::new("slow", "Takes half a minute").handler(slow))
        .tool(Tool::new("ask", "Asks after a while").handler(ask))
        .tool(Tool::new("log", "Logs").handler(log))
        .tool(Tool::new(format!("only_{version}"), "Of this version").handler(async || "here"))
        .resource(Resource::new("test:a", "a").text(format!("text of v{version}")));
    if version > 1 {
        let greet =
            async || vec![PromptMessage::new(Role::User, RawJson::parse(r#"{"type":"text","text":"hi"}"#).unwrap())];
        builder = builder.prompt(Prompt::new("greet", "Greets").handler(greet));
    }
    builder.build().unwrap()
}

/// A client whose lists and resources are noted.
fn listening(heard: &Seen) -> Client {
    let (lists, resources, logs) = (heard.clone(), heard.clone(), heard.clone());
    client()
        .on_list_changed(move |list, _| {
            let heard = lists.clone();
            async move { heard.push(format!("{list:?}")) }
        })
        .on_resource_updated(move |uri, _| {
            let heard = resources.clone();
            async move { heard.push(uri) }
        })
        .on_log(move |message, _| {
            let heard = logs.clone();
            async move { heard.push(message.data.to_string()) }
        })
        .on_elicit(|form, _| async move {
            let action = if form.message.ends_with('1') { ElicitAction::Accept } else { ElicitAction::Decline };
            Ok(ElicitResult { action, content: Some(RawJson::EMPTY_OBJECT), meta: None })
        })
}

struct Stage {
    program: Program,
    gateway: Gateway,
    session: ClientSession,
    heard: Seen,
}

impl Stage {
    async fn open(eras: (Mode, Mode), sharing: Sharing) -> Self {
        let (program, heard) = (Program::new(), Seen::default());
        let gateway = gateway().upstream(program.upstream().mode(eras.1).sharing(sharing)).open().await.unwrap();
        let session = connect(&gateway, &listening(&heard).mode(eras.0)).await;
        Self { program, gateway, session, heard }
    }

    async fn call(&self, tool: &str) -> String {
        call(&self.session, tool).await
    }

    fn start(&self, tool: &str) -> tokio::task::JoinHandle<String> {
        let (session, tool) = (self.session.clone(), tool.to_owned());
        tokio::spawn(async move { call(&session, &tool).await })
    }

    /// Waits until clients were told of another version.
    async fn reloaded(&self) {
        while !self.heard.wait().await.contains(&"Tools".to_owned()) {}
    }
}

fn everywhere(test: impl AsyncFn(Stage)) {
    for eras in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async { test(Stage::open(eras, sharing).await).await });
        }
    }
}

async fn pause(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[test]
fn running_calls_finish_in_the_old_version() {
    everywhere(async |stage| {
        assert_eq!(stage.call("version").await, "v1");
        let slow = stage.start("slow");
        pause(1).await;
        let before = stage.program.counts();
        stage.program.save(&stage.gateway, Version::Works(2));
        stage.reloaded().await;
        assert_eq!(stage.call("version").await, "v2");
        assert!(tools(&stage.session).await.contains(&"only_2".to_owned()));
        assert_eq!(stage.session.list_prompts(None).await.unwrap().items.len(), 1, "a capability that is new");
        assert_eq!(slow.await.unwrap(), "slow v1");
        pause(10).await;
        let (started, running) = stage.program.counts();
        let (most, _) = before;
        assert!(running <= most && started > most, "{started} started, {running} running");
        stage.gateway.close().await;
        pause(10).await;
        assert_eq!(stage.program.counts().1, 0, "no version is left");
    });
}

#[test]
fn a_question_belongs_to_a_call_of_its_version() {
    everywhere(async |stage| {
        let asking = stage.start("ask");
        pause(1).await;
        stage.program.save(&stage.gateway, Version::Works(2));
        stage.reloaded().await;
        let other = stage.start("ask");
        assert_eq!(asking.await.unwrap(), "Accept v1");
        assert_eq!(other.await.unwrap(), "Decline v2");
    });
}

#[test]
fn a_version_that_does_not_start_changes_nothing() {
    everywhere(async |stage| {
        assert_eq!(stage.call("version").await, "v1");
        stage.program.save(&stage.gateway, Version::Ends);
        pause(5).await;
        let told = stage.heard.take();
        assert!(!told.contains(&"Tools".to_owned()), "{told:?}");
        assert_eq!(stage.call("version").await, "v1");
        // One that hangs gives way to the next save.
        stage.program.save(&stage.gateway, Version::Hangs);
        pause(3).await;
        assert_eq!(stage.call("version").await, "v1");
        stage.program.save(&stage.gateway, Version::Works(2));
        stage.reloaded().await;
        assert_eq!(stage.call("version").await, "v2");
    });
}

#[test]
fn levels_and_subscriptions_come_from_the_old_version() {
    everywhere(async |stage| {
        stage.session.subscribe("test:a").await.unwrap();
        stage.session.set_level(Level::Debug).await.unwrap();
        assert_eq!(stage.call("log").await, "logged");
        pause(1).await;
        stage.heard.take();
        stage.program.save(&stage.gateway, Version::Works(2));
        stage.reloaded().await;
        pause(2).await;
        stage.heard.take();
        let newest = stage.program.registries.lock().unwrap().clone();
        newest.iter().for_each(|registry| registry.resource_updated("test:a"));
        assert_eq!(stage.call("log").await, "logged");
        pause(1).await;
        let heard = stage.heard.take();
        assert!(heard.contains(&"test:a".to_owned()) && heard.contains(&r#""details of v2""#.to_owned()), "{heard:?}");
    });
}

#[test]
fn a_save_ends_an_outage_immediately() {
    everywhere(async |stage| {
        assert_eq!(stage.call("version").await, "v1");
        stage.program.save(&stage.gateway, Version::Works(2));
        stage.reloaded().await;
        // It crashes, and cannot be started again.
        *stage.program.version.lock().unwrap() = Version::Ends;
        stage.program.serving.lock().unwrap().drain(..).for_each(|serving| serving.abort());
        pause(60).await;
        let waiting = stage.start("version");
        let start = Instant::now();
        stage.program.save(&stage.gateway, Version::Works(3));
        assert_eq!(waiting.await.unwrap(), "v3");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    });
}

/// A session of the other era that is lost in the next version: until it comes back, the first one serves its clients.
#[test]
fn a_session_for_all_serves_both_eras_after_a_reload() {
    run(async {
        let (program, heard) = (Program::new(), Seen::default());
        let gateway = gateway().upstream(program.upstream().sharing(Sharing::Shared)).open().await.unwrap();
        let stateful = connect(&gateway, &listening(&heard).mode(Mode::Stateful)).await;
        let stateless = connect(&gateway, &client().mode(Mode::Stateless)).await;
        assert_eq!([call(&stateful, "version").await, call(&stateless, "version").await], ["v1", "v1"]);
        assert_eq!(program.counts(), (2, 2), "a session for each era");
        for version in [2, 3] {
            program.save(&gateway, Version::Works(version));
            while !heard.wait().await.contains(&"Tools".to_owned()) {}
            heard.take();
        }
        pause(1).await;
        *program.version.lock().unwrap() = Version::Ends;
        program.serving.lock().unwrap().pop().unwrap().abort();
        pause(1).await;
        assert_eq!([call(&stateful, "version").await, call(&stateless, "version").await], ["v3", "v3"]);
        assert_eq!(program.counts().1, 1, "the other one cannot be opened");
    });
}

#[test]
fn a_reload_waits_until_an_old_version_has_had_its_time() {
    run(async {
        let program = Program::new();
        let limits = protomcp_gateway::GatewayLimits {
            max_retiring: 1,
            timeout: Duration::from_secs(20),
            ..protomcp_gateway::GatewayLimits::default()
        };
        let gateway =
            gateway().limits(limits).upstream(program.upstream().sharing(Sharing::Shared)).open().await.unwrap();
        let heard = Seen::default();
        let session = connect(&gateway, &listening(&heard)).await;
        // Progress keeps a call beyond the time for each answer; this one has none, so it has its own timeout.
        let slow = tokio::spawn(session.call_tool("slow", &JsonObject::new()).into_future());
        pause(15).await;
        program.save(&gateway, Version::Works(2));
        pause(1).await;
        assert_eq!(call(&session, "version").await, "v2");
        program.save(&gateway, Version::Works(3));
        pause(1).await;
        assert_eq!(call(&session, "version").await, "v2", "the reload waits for the call");
        assert!(slow.await.unwrap().unwrap().is_error, "it has had its time");
        pause(2).await;
        assert_eq!(call(&session, "version").await, "v3");
    });
}

#[test]
fn every_client_has_a_process_of_the_new_version() {
    for era in [Mode::Stateful, Mode::Stateless] {
        run(async {
            let program = Program::new();
            let gateway = gateway().upstream(program.upstream().mode(era)).open().await.unwrap();
            let heard = Seen::default();
            let mut sessions = Vec::new();
            for _ in 0..5 {
                let session = connect(&gateway, &listening(&heard).mode(Mode::Stateful)).await;
                assert_eq!(call(&session, "version").await, "v1");
                sessions.push(session);
            }
            assert_eq!(program.counts(), (6, 6), "one for clients without a session, too");
            let slow = tokio::spawn({
                let session = sessions[3].clone();
                async move { call(&session, "slow").await }
            });
            pause(1).await;
            program.save(&gateway, Version::Works(2));
            pause(5).await;
            assert_eq!(program.counts(), (12, 7), "the one with a call is left of the old version");
            for session in &sessions {
                assert_eq!(call(session, "version").await, "v2");
            }
            assert_eq!(slow.await.unwrap(), "slow v1");
            pause(5).await;
            assert_eq!(program.counts(), (12, 6));
        });
    }
}
