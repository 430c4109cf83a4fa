module apus.test/seb

go 1.26.0

require (
	apus.test/clients v0.0.0
	github.com/micvbang/simple-event-broker v0.0.0-20260517133525-63179824e18c
)

require (
	github.com/micvbang/go-helpy v0.1.24 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace apus.test/clients => ../go
