//! A process that names folders of skills (docs/envelope.md, "Extensions").

use std::path::PathBuf;

use protomcp_bridge::{Bridge, Builder, Command, ReloadMode, StartError};
use protomcp_envelope::SdkInfo;
use protomcp_testing::in_time;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::stage::Stage;
use crate::tool::Tool;

fn info(folders: &[&str]) -> SdkInfo {
    let skill_folders = folders.iter().map(|&folder| folder.to_owned()).collect();
    SdkInfo { name: "test".into(), skill_folders, ..SdkInfo::default() }
}

/// A bridge that sends the folders of its processes.
fn observed(builder: Builder) -> (Builder, UnboundedReceiver<Vec<PathBuf>>) {
    let (sender, folders) = unbounded_channel();
    let serve = move |folders| {
        let sent = sender.send(folders);
        async move { sent.map_err(|error| error.to_string()) }
    };
    (builder.skill_folders(serve), folders)
}

#[tokio::test]
async fn each_process_replaces_the_folders_of_the_one_before() {
    let mut observer = None;
    let change = |builder: Builder| {
        let (builder, folders) = observed(builder.reload_mode(ReloadMode::Swap));
        observer = Some(folders);
        builder
    };
    let (stage, mut tool) = Stage::silent(change).await;
    let mut folders = observer.expect("the bridge is made");
    tool.send("", info(&["skills", "/srv/skills"])).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    tool.has_nothing_else().await;
    let named = ["skills", "/srv/skills"].map(PathBuf::from).to_vec();
    assert_eq!(in_time(folders.recv()).await.expect("they are passed on"), Some(named));
    stage.reload().await;
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    next.has_nothing_else().await;
    assert_eq!(in_time(folders.recv()).await.expect("they are passed on"), Some(Vec::new()));
}

/// The error of a first start in which the process sends this.
async fn refused(change: impl FnOnce(Builder) -> Builder, info: SdkInfo) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let builder = Bridge::command(Command::new("sleep").arg("3600")).socket(&socket);
    let (bridge, starting) = change(builder).launch();
    let connect = async {
        loop {
            match UnixStream::connect(&socket).await {
                Ok(stream) => return Tool::new(stream),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let mut tool = in_time(connect).await.expect("the bridge listens");
    tool.send("", info).await;
    tool.handshake_after_info(Vec::new()).await;
    tool.has_nothing_else().await;
    let outcome = in_time(starting.wait()).await.expect("the start ends");
    bridge.shutdown().await;
    match outcome {
        Err(StartError::Skills(why)) => why,
        other => panic!("the folders are refused, and not {other:?}"),
    }
}

#[tokio::test]
async fn folders_beyond_the_bounds_end_the_start() {
    let many = vec!["skills"; 65];
    let why = refused(|builder| builder, info(&many)).await;
    assert_eq!(why, "the tool process names 65 folders of skills: name at most 64");
}

#[tokio::test]
async fn skills_that_cannot_be_served_end_the_start() {
    let fails = |builder: Builder| builder.skill_folders(|_| async { Err("no such folder".to_owned()) });
    assert_eq!(refused(fails, info(&["skills"])).await, "no such folder");
}
