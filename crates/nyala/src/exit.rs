// SPDX-License-Identifier: Apache-2.0

//! How a command ends: an exit code that means something, and a sentence that says what to do.

use nyala_bench::BenchError;
use nyala_client::Error as ClientError;
use nyala_transport::member::MgmtError;
use nyala_transport::{SecretError, TransportError};
use nyala_wire::{ErrorCode, WireError};
use std::fmt;

/// Exit codes of every command; `docs/cli.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// The operation failed.
    Failed = 1,
    /// The command line, or a variable that stands for a flag of it, makes no sense.
    Usage = 2,
    /// A configuration file, secret file or value in it is wrong.
    Config = 3,
    /// The cluster cannot be reached.
    Unreachable = 4,
    /// The cluster refuses: another secret, another cluster, no permission.
    Refused = 5,
    /// A check found something, or a service does not run or answer.
    Degraded = 6,
}

impl Exit {
    /// What a service's own exit code says; anything unknown is a failure.
    pub fn of_child(code: Option<i32>) -> Exit {
        let telling = [Exit::Config, Exit::Unreachable, Exit::Refused];
        telling.into_iter().find(|exit| code == Some(*exit as i32)).unwrap_or(Exit::Failed)
    }
}

/// A failed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit code.
    pub exit: Exit,
    /// What went wrong and what to do, for people.
    pub message: String,
}

/// How a command ended.
pub type Outcome = Result<Exit, Failure>;

impl Failure {
    /// The operation failed.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Failed, message: message.into() }
    }

    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into() }
    }

    /// A configuration is wrong.
    pub fn config(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Config, message: message.into() }
    }

    /// The cluster cannot be reached.
    pub fn unreachable(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Unreachable, message: message.into() }
    }

    /// The same, with what was attempted in front.
    pub fn context(self, what: impl fmt::Display) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Names what an input or output error was about.
pub fn io(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::failed(format!("{what}: {error}"))
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Failure {
        let exit = match &error {
            TransportError::WrongSecret { .. }
            | TransportError::RoleNotProven { .. }
            | TransportError::WrongCluster { .. }
            | TransportError::VersionMismatch { .. } => Exit::Refused,
            TransportError::Secret(_) | TransportError::EncryptionMismatch { .. } => Exit::Config,
            TransportError::Frame(_) | TransportError::PortInUse { .. } | TransportError::Bind { .. } => Exit::Failed,
            _ => Exit::Unreachable,
        };
        Failure { exit, message: error.to_string() }
    }
}

impl From<MgmtError> for Failure {
    fn from(error: MgmtError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            MgmtError::Unreachable(error) => Failure::from(error).exit,
            MgmtError::Refused(error) => Failure::from(error).exit,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        let exit = match error.code {
            ErrorCode::UNAUTHORIZED | ErrorCode::FOREIGN | ErrorCode::NOT_PERMITTED | ErrorCode::ACCESS => {
                Exit::Refused
            }
            ErrorCode::NOT_READY => Exit::Unreachable,
            _ => Exit::Failed,
        };
        // The sentence is for people; the code only where there is none.
        let message = if error.message.is_empty() { error.code.to_string() } else { error.message };
        Failure { exit, message }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            ClientError::Transport { error, .. } => Failure::from(error).exit,
            ClientError::Server { error, .. } => Failure::from(error).exit,
            ClientError::TimedOut { .. } => Exit::Unreachable,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Failure {
        match error {
            BenchError::Client(error) => Failure::from(error),
            BenchError::Failed(message) => Failure::failed(message),
        }
    }
}

impl From<nyala_fuse::mount::MountError> for Failure {
    fn from(error: nyala_fuse::mount::MountError) -> Failure {
        Failure::failed(error.to_string())
    }
}

impl From<nyala_fuse::SessionError> for Failure {
    fn from(error: nyala_fuse::SessionError) -> Failure {
        Failure::failed(error.to_string())
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Failure {
        Failure::config(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_cause() {
        let address = "127.0.0.1:8008".parse().unwrap();
        let mgmt = |error| Failure::from(MgmtError::Unreachable(error)).exit;
        assert_eq!(mgmt(TransportError::ConnectRefused { address }), Exit::Unreachable);
        assert_eq!(mgmt(TransportError::WrongSecret { address }), Exit::Refused);
        assert_eq!(mgmt(TransportError::WrongCluster { address, ours: 1, theirs: 2 }), Exit::Refused);
        assert_eq!(mgmt(TransportError::EncryptionMismatch { address, ours: false }), Exit::Config);
        let wire = |code: ErrorCode| Failure::from(MgmtError::Refused(code.with("no"))).exit;
        assert_eq!(wire(ErrorCode::UNAUTHORIZED), Exit::Refused);
        assert_eq!(wire(ErrorCode::NOT_READY), Exit::Unreachable);
        assert_eq!(wire(ErrorCode::INVALID), Exit::Failed);
        let gone = ClientError::TimedOut { what: "map", after: std::time::Duration::ZERO, last: String::new() };
        assert_eq!(Failure::from(gone).exit, Exit::Unreachable);
        let mode = SecretError::Mode { path: "/s".into(), mode: 0o644 };
        assert_eq!(Failure::from(mode).exit, Exit::Config);
    }

    #[test]
    fn a_childs_code_is_passed_on_where_it_says_something() {
        assert_eq!(Exit::of_child(Some(3)), Exit::Config);
        assert_eq!(Exit::of_child(Some(5)), Exit::Refused);
        assert_eq!(
            (Exit::of_child(Some(0)), Exit::of_child(Some(101)), Exit::of_child(None)),
            (Exit::Failed, Exit::Failed, Exit::Failed)
        );
    }

    #[test]
    fn the_servers_sentence_stands_alone() {
        assert_eq!(Failure::from(ErrorCode::INVALID.with("too small")).message, "too small");
        assert_eq!(Failure::from(WireError::from(ErrorCode::INVALID)).message, "INVALID");
        assert_eq!(Failure::failed("b").context("a").message, "a: b");
    }
}
