// SPDX-License-Identifier: Apache-2.0

//! Why a service ended, as an exit code.

use crate::exit::{Exit, Failure};
use nyala_meta::MetaError;
use nyala_mgmt::{MgmtError, RestError};
use nyala_mon::MonError;
use nyala_storage::StorageError;

impl From<MgmtError> for Failure {
    fn from(error: MgmtError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            MgmtError::Secret(error) => Failure::from(error).exit,
            MgmtError::Transport(error) => Failure::from(error).exit,
            MgmtError::Init(_) => Exit::Config,
            MgmtError::Rest(RestError::NotIssued(_)) => Exit::Usage,
            MgmtError::Rest(_) => Exit::Config,
            MgmtError::NotTaken(error) => Failure::from(error).exit,
            MgmtError::ForeignCluster { .. } | MgmtError::Removed { .. } => Exit::Refused,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

impl From<MetaError> for Failure {
    fn from(error: MetaError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            MetaError::Secret(error) => Failure::from(error).exit,
            MetaError::Transport(error) => Failure::from(error).exit,
            MetaError::Mgmt(error) => Failure::from(error).exit,
            MetaError::Expelled(_) => Exit::Refused,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            StorageError::Secret(error) => Failure::from(error).exit,
            StorageError::Transport(error) => Failure::from(error).exit,
            StorageError::Mgmt(error) => Failure::from(error).exit,
            StorageError::NoTarget => Exit::Config,
            StorageError::Expelled(_) => Exit::Refused,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

impl From<MonError> for Failure {
    fn from(error: MonError) -> Failure {
        let message = error.to_string();
        let exit = match error {
            MonError::Secret(error) => Failure::from(error).exit,
            MonError::Insecure(_) | MonError::Token { .. } => Exit::Config,
            _ => Exit::Failed,
        };
        Failure { exit, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_transport::TransportError;
    use nyala_transport::member::MgmtError as Asked;

    #[test]
    fn who_starts_services_can_tell_the_causes_apart() {
        let address = "127.0.0.1:8008".parse().unwrap();
        let foreign = || Asked::Unreachable(TransportError::WrongSecret { address });
        assert_eq!(Failure::from(MetaError::Mgmt(foreign())).exit, Exit::Refused);
        assert_eq!(Failure::from(StorageError::Mgmt(foreign())).exit, Exit::Refused);
        assert_eq!(Failure::from(StorageError::NoTarget).exit, Exit::Config);
        let taken = || TransportError::PortInUse { address };
        assert_eq!(Failure::from(MgmtError::Transport(taken())).exit, Exit::Failed);
        assert_eq!(Failure::from(MgmtError::Rest(RestError::Half)).exit, Exit::Config);
    }
}
