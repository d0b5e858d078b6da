module ganger.dev/shared-model

go 1.24

require ganger.dev/worker v0.0.0

replace ganger.dev/worker => ../../../worker-sdk/go
