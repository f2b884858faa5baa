//! A second program that lives as long as the tools: cargo build, then pmcp dev target/debug/sidecar.
//!
//! It is started with the server and ends with `pmcp`. Here it is this program itself, with an argument.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use protomcp::{sidecar, tool, ArgDef, ToolResult};

fn be_the_sidecar(port: u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free");
    for stream in listener.incoming().flatten() {
        let _ = answer(stream);
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut question = [0; 64];
    let length = stream.read(&mut question)?;
    write!(stream, "the sidecar says {}", String::from_utf8_lossy(&question[..length]))
}

fn ask(port: u16, about: &str) -> std::io::Result<String> {
    // It may have been started a moment ago.
    let mut stream = (0..200)
        .find_map(|_| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
            if stream.is_none() {
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
            stream
        })
        .ok_or(std::io::ErrorKind::ConnectionRefused)?;
    stream.write_all(about.as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

#[tokio::main]
async fn main() {
    if let Some(port) = std::env::args().nth(1).and_then(|port| port.parse().ok()) {
        return be_the_sidecar(port);
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let port = free.expect("a port is free").port();
    let this = std::env::current_exe().expect("this program has a path");
    sidecar(&format!("protomcp-example-{port}"), &[&this.to_string_lossy(), &port.to_string()])
        .start_on("server_start")
        .register();
    tool("ask")
        .description("Asks the sidecar.")
        .arg(ArgDef::string("about"))
        .handler(move |_, args| match ask(port, args["about"].as_str().unwrap_or_default()) {
            Ok(said) => ToolResult::new(said),
            Err(error) => ToolResult::error(error.to_string(), "NO_SIDECAR", "Try again.", true),
        })
        .register();
    protomcp::run().await;
}
