//! Real sockets in temporary folders.

use std::io::Write;
use std::os::unix::net::UnixStream as Client;

use protomcp_testing::in_time;
use tempfile::{TempDir, tempdir};
use tokio::io::AsyncReadExt;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// Binds in a fresh folder, after `prepare` has changed it.
fn bind_after(prepare: impl FnOnce(&Path)) -> (TempDir, Result<Endpoint, EndpointError>) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tool.sock");
    prepare(&path);
    let bound = Endpoint::bind(&path);
    (folder, bound)
}

#[test]
fn the_default_path_follows_the_runtime_directory() {
    let own = format!("/temporary/pmcp-{}", own_user());
    let table: &[(Option<&str>, &str)] =
        &[(Some("/run/user/1"), "/run/user/1/pmcp"), (None, &own), (Some(""), &own), (Some("relative/run"), &own)];
    for (runtime, directory) in table {
        let path = socket_path(runtime.map(OsString::from), Path::new("/temporary")).unwrap();
        assert_eq!(path.parent().unwrap(), Path::new(directory), "{runtime:?}");
    }
}

#[test]
fn directories_that_are_too_long_for_a_socket_are_passed_over() {
    let (last, own) = (format!("/tmp/pmcp-{}", own_user()), format!("pmcp-{}", own_user()));
    for bytes in 1..200 {
        let (long, short) = (format!("/{}", "x".repeat(bytes - 1)), Path::new("/t"));
        let path = socket_path(None, Path::new(&long)).unwrap();
        assert!(path.as_os_str().len() <= PATH_MAX, "{path:?}");
        let found = path.parent().unwrap();
        assert!(found == Path::new(&long).join(&own) || bytes > 60 && found == Path::new(&last), "{found:?}");
        let path = socket_path(Some(long.clone().into()), short).unwrap();
        let found = path.parent().unwrap();
        assert!(found == Path::new(&long).join("pmcp") || bytes > 60 && found == short.join(&own), "{found:?}");
    }
}

#[test]
fn the_name_begins_with_the_pid_and_cannot_be_guessed() {
    let name = || socket_path(None, Path::new("/t")).unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let (one, other) = (name(), name());
    assert_ne!(one, other);
    let random = one.strip_prefix(&format!("{}-", std::process::id())).unwrap().strip_suffix(".sock").unwrap();
    assert_eq!(random.len(), 16);
    assert!(random.bytes().all(|b| b.is_ascii_hexdigit()));
}

#[test]
fn the_default_path_fits_in_this_environment() {
    let path = default_socket_path().unwrap();
    assert!(path.is_absolute());
    assert!(path.to_str().unwrap().ends_with(".sock"));
}

#[tokio::test]
async fn missing_directories_are_created_for_this_user_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a/b/tool.sock");
    let endpoint = Endpoint::bind(&path).unwrap();
    assert_eq!(endpoint.path(), path);
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn a_directory_that_exists_is_left_as_it_is() {
    let (folder, bound) = bind_after(|path| {
        fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    });
    bound.unwrap();
    assert_eq!(mode(folder.path()), 0o755);
}

#[tokio::test]
async fn a_bare_file_name_needs_no_directory() {
    // Bound in the current directory, wherever that is: a path without a parent must not fail for that.
    let name = format!("bare-{}.sock", std::process::id());
    let endpoint = Endpoint::bind(Path::new(&name)).unwrap();
    drop(endpoint);
    assert!(!Path::new(&name).exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let (_folder, bound) = bind_after(|path| {
        // A closed listener leaves its file behind.
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        assert!(path.exists());
    });
    let endpoint = bound.unwrap();
    let _tool = Client::connect(endpoint.path()).unwrap();
}

#[tokio::test]
async fn whatever_else_has_the_name_is_left_alone() {
    for what in ["a file", "a directory", "a link"] {
        let (folder, bound) = bind_after(|path| match what {
            "a file" => fs::write(path, "precious").unwrap(),
            "a directory" => fs::create_dir(path).unwrap(),
            _ => std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap(),
        });
        let path = folder.path().join("tool.sock");
        let error = bound.unwrap_err();
        assert!(matches!(&error, EndpointError::InUse(named) if *named == path), "{what}: {error}");
        assert_eq!(error.to_string(), format!("{} is in use by another file or program", path.display()));
        assert!(fs::symlink_metadata(&path).is_ok(), "{what} is gone");
    }
}

#[tokio::test]
async fn a_socket_in_use_is_refused_and_not_disturbed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tool.sock");
    let first = Endpoint::bind(&path).unwrap();
    assert!(matches!(Endpoint::bind(&path).unwrap_err(), EndpointError::InUse(_)));

    // The first endpoint waits for its only connection and would accept a probe as its tool.
    let mut tool = Client::connect(&path).unwrap();
    tool.write_all(b"tool").unwrap();
    drop(tool);
    let mut accepted = first.accept().await.unwrap();
    let mut said = String::new();
    accepted.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "tool");
}

#[tokio::test]
async fn a_live_datagram_socket_is_in_use_too() {
    let mut alive = None;
    let (_folder, bound) = bind_after(|path| alive = Some(UnixDatagram::bind(path).unwrap()));
    assert!(matches!(bound.unwrap_err(), EndpointError::InUse(_)));
}

#[tokio::test]
async fn a_path_that_is_too_long_is_refused_with_its_length() {
    let folder = tempdir().unwrap();
    let room = PATH_MAX - folder.path().as_os_str().len() - 1;
    let fits = folder.path().join("n".repeat(room));
    drop(Endpoint::bind(&fits).unwrap());

    let path = folder.path().join("n".repeat(room + 1));
    let error = Endpoint::bind(&path).unwrap_err();
    assert!(matches!(&error, EndpointError::PathTooLong { length, .. } if *length == PATH_MAX + 1));
    assert!(error.to_string().contains("bytes, the system allows"), "{error}");
    assert!(!path.exists());
}

#[tokio::test]
async fn a_directory_that_cannot_be_created_is_reported_with_the_path() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let path = folder.path().join("file/tool.sock");
    let error = Endpoint::bind(&path).unwrap_err();
    assert!(matches!(&error, EndpointError::Io { path: named, .. } if *named == path), "{error:?}");
}

#[tokio::test]
async fn the_socket_is_gone_once_the_tool_is_there() {
    let (folder, bound) = bind_after(|_| {});
    let endpoint = bound.unwrap();
    let path = folder.path().join("tool.sock");
    assert!(path.exists());
    let _tool = Client::connect(&path).unwrap();
    let _stream = endpoint.accept().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn the_socket_is_gone_with_its_endpoint() {
    let (folder, bound) = bind_after(|_| {});
    drop(bound.unwrap());
    assert!(!folder.path().join("tool.sock").exists());
}

#[tokio::test]
async fn an_old_endpoint_does_not_remove_the_socket_of_a_new_one() {
    let (folder, bound) = bind_after(|_| {});
    let path = folder.path().join("tool.sock");
    let old = bound.unwrap();
    let _tool = Client::connect(&path).unwrap();
    let _stream = old.accept().await.unwrap();
    let _new = Endpoint::bind(&path).unwrap();
    drop(old);
    assert!(path.exists());
}

#[tokio::test]
async fn the_kernel_buffers_are_enlarged() {
    let (_folder, bound) = bind_after(|_| {});
    let endpoint = bound.unwrap();
    let tool = Client::connect(endpoint.path()).unwrap();
    let stream = endpoint.accept().await.unwrap();
    let accepted =
        (sockopt::socket_send_buffer_size(&stream).unwrap(), sockopt::socket_recv_buffer_size(&stream).unwrap());

    // Systems cap the size, so another socket with the same request is the reference.
    sockopt::set_socket_send_buffer_size(&tool, 1_048_576).unwrap();
    sockopt::set_socket_recv_buffer_size(&tool, 1_048_576).unwrap();
    let asked = (sockopt::socket_send_buffer_size(&tool).unwrap(), sockopt::socket_recv_buffer_size(&tool).unwrap());
    assert_eq!(accepted, asked);
}

#[tokio::test]
async fn our_own_directory_is_closed_to_others() {
    let folder = tempdir().unwrap();
    let directory = folder.path().join("pmcp");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let _endpoint = Endpoint::bind_private(&directory.join("tool.sock")).unwrap();
    assert_eq!(mode(&directory), 0o700);
}

#[tokio::test]
async fn a_default_directory_that_is_not_ours_is_refused() {
    let folder = tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let link = folder.path().join("pmcp");
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let error = Endpoint::bind_private(&link.join("tool.sock")).unwrap_err();
    assert!(matches!(&error, EndpointError::ForeignDirectory(named) if *named == link), "{error}");

    // The root directory belongs to root; root itself has to change a folder's owner to see the refusal.
    let foreign = if own_user() == 0 {
        let given = folder.path().join("given");
        fs::create_dir(&given).unwrap();
        std::os::unix::fs::chown(&given, Some(65534), None).unwrap();
        given
    } else {
        PathBuf::from("/")
    };
    let error = Endpoint::bind_private(&foreign.join("tool.sock")).unwrap_err();
    assert!(matches!(&error, EndpointError::ForeignDirectory(named) if *named == foreign), "{error}");
}

/// Connects, says so, and waits until the other end closes; the status is the number of bytes that came.
const STRANGER: &str = r#"
    my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "cannot connect: $!";
    $| = 1;
    print "connected\n";
    exit sysread($socket, my $bytes, 1);
"#;

/// Takes effect as root only: no one else can act as another user.
#[tokio::test]
async fn a_connection_of_another_user_is_refused() {
    use std::os::unix::process::CommandExt as _;

    if own_user() != 0 {
        return;
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("tool.sock");
    let endpoint = Endpoint::bind(&path).unwrap();
    // The permissions that keep other users out are taken away, so that the check behind them is reached.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let mut stranger = std::process::Command::new("perl");
    stranger
        .args(["-MIO::Socket::UNIX", "-e", STRANGER])
        .arg(&path)
        .uid(65534)
        .current_dir("/")
        .stdout(std::process::Stdio::piped());
    let mut stranger = stranger.spawn().unwrap();
    let mut said = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(stranger.stdout.take().unwrap()), &mut said).unwrap();
    assert_eq!(said, "connected\n");
    let path_of_ours = path.clone();
    let ours = std::thread::spawn(move || {
        let mut client = Client::connect(path_of_ours).unwrap();
        client.write_all(b"ours").unwrap();
        client
    });
    let mut bytes = [0; 4];
    let read = async { endpoint.accept().await.unwrap().read_exact(&mut bytes).await.unwrap() };
    in_time(read).await.expect("the stranger is not taken for the tool");
    assert_eq!(&bytes, b"ours");
    assert!(stranger.wait().unwrap().success(), "the other user's connection is closed without a byte");
    drop(ours.join().unwrap());
}
