module ganger.dev/worker

go 1.24
