//! The keyring of a desktop, by the command `secret-tool`, which comes with libsecret. A secret is passed on its standard
//! input and output, and never in its arguments, which other users can see.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::driver::token_store::StoreError;

/// The command.
const PROGRAM: &str = "secret-tool";

/// The longest secret, in bytes. The command reads 8 KiB, and cuts longer ones without failing.
const MAX_SECRET: usize = 8000;

/// The longest output that is read, in bytes: a byte more than a secret may have.
const MAX_OUTPUT: u64 = 256 * 1024 + 1;

/// The longest complaint that is read, in bytes.
const MAX_COMPLAINT: u64 = 1024;

/// The end of the command.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    is_success: bool,
    output: Vec<u8>,
    complaint: String,
}

pub(super) async fn get(service: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    found(run(PROGRAM, &["lookup", "service", service, "name", name], &[]).await?)
}

pub(super) async fn set(service: &str, name: &str, secret: &[u8]) -> Result<(), StoreError> {
    if secret.len() > MAX_SECRET {
        return Err(StoreError(format!("{PROGRAM}: a secret of {} bytes is too long", secret.len())));
    }
    let label = format!("--label={service}: tokens");
    done(&run(PROGRAM, &["store", &label, "service", service, "name", name], secret).await?)
}

pub(super) async fn remove(service: &str, name: &str) -> Result<(), StoreError> {
    found(run(PROGRAM, &["clear", "service", service, "name", name], &[]).await?).map(drop)
}

/// The outcome of a search: without a complaint, a failure says that there is no such secret.
fn found(ended: Ended) -> Result<Option<Vec<u8>>, StoreError> {
    match ended {
        Ended { is_success: true, output, .. } => Ok(Some(output)),
        Ended { is_success: false, complaint, .. } if complaint.is_empty() => Ok(None),
        ended => Err(failed(&ended)),
    }
}

fn done(ended: &Ended) -> Result<(), StoreError> {
    if ended.is_success { Ok(()) } else { Err(failed(ended)) }
}

fn failed(ended: &Ended) -> StoreError {
    let complaint: String = ended.complaint.chars().filter(|letter| !letter.is_control()).take(200).collect();
    let complaint = if complaint.is_empty() { "it fails" } else { &complaint };
    // The command begins its own messages with its name.
    StoreError(format!("{PROGRAM}: {}", complaint.strip_prefix("secret-tool: ").unwrap_or(complaint)))
}

/// Runs the command to its end. It ends with the future.
async fn run(program: impl AsRef<OsStr>, args: &[&str], input: &[u8]) -> Result<Ended, StoreError> {
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let error = |error: io::Error| StoreError(format!("{PROGRAM}: {error}"));
    finish(started.map_err(error)?, input).await.map_err(error)
}

async fn finish(mut child: Child, input: &[u8]) -> io::Result<Ended> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        let Some(mut stdin) = stdin else { return Ok(()) };
        match stdin.write_all(input).await {
            // It has ended already, and says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome,
        }
    };
    let (written, output, complaint) = tokio::join!(write, read(stdout, MAX_OUTPUT), read(stderr, MAX_COMPLAINT));
    written?;
    let (output, complaint) = (output?, String::from_utf8_lossy(&complaint?).trim().to_owned());
    Ok(Ended { is_success: child.wait().await?.success(), output, complaint })
}

/// Reads the beginning of a stream. The rest breaks off with the stream.
async fn read(stream: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(stream) = stream {
        stream.take(most).read_to_end(&mut text).await?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(is_success: bool, output: &str, complaint: &str) -> Ended {
        Ended { is_success, output: output.into(), complaint: complaint.to_owned() }
    }

    #[test]
    fn a_failure_without_a_complaint_is_an_absent_secret() {
        let fails = |text: &str| Err(StoreError(text.to_owned()));
        for (end, expected_get, expected_set) in [
            (ended(true, "s", ""), Ok(Some(b"s".to_vec())), Ok(())),
            (ended(true, "", ""), Ok(Some(Vec::new())), Ok(())),
            (ended(true, "s", "a warning"), Ok(Some(b"s".to_vec())), Ok(())),
            (ended(false, "", ""), Ok(None), fails("secret-tool: it fails")),
            (
                ended(false, "", "secret-tool: Cannot autolaunch\u{1b}[1m D-Bus"),
                fails("secret-tool: Cannot autolaunch[1m D-Bus").map(|()| None),
                fails("secret-tool: Cannot autolaunch[1m D-Bus"),
            ),
        ] {
            let done = done(&end);
            assert_eq!((found(end), done), (expected_get, expected_set));
        }
    }

    #[tokio::test]
    async fn a_secret_is_never_cut() {
        let failed = set("protomcp-test", "long", &[b'x'; MAX_SECRET + 1]).await.unwrap_err();
        assert_eq!(failed.0, "secret-tool: a secret of 8001 bytes is too long");
    }

    #[tokio::test]
    async fn a_command_gets_the_secret_on_its_input() {
        let shell = async |script: &str, input: &[u8]| run("sh", &["-c", script], input).await;
        assert_eq!(shell("cat", b"s3cret").await, Ok(ended(true, "s3cret", "")));
        assert_eq!(shell("echo no >&2; exit 1", b"s3cret").await, Ok(ended(false, "", "no")));
        // One that does not read its input, and one that never ends its output.
        assert_eq!(shell("exit 3", &[b'x'; 1_000_000]).await, Ok(ended(false, "", "")));
        let endless = shell("yes", b"").await.unwrap();
        assert_eq!((endless.is_success, endless.output.len() as u64), (false, MAX_OUTPUT));
        let missing = run("/nonexistent/secret-tool", &[], b"").await.unwrap_err();
        assert!(missing.0.starts_with("secret-tool: "), "{missing}");
    }
}
