// Command testbed is a whole Kubernetes control plane in one binary, for tests: its first argument says which part it is.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	etcd "go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// parts maps the first argument to what runs: each is the component's own command, with all of its flags.
var parts = map[string]func(){
	"etcd":                    func() { etcd.Main(os.Args) },
	"kube-apiserver":          serve(apiserver.NewAPIServerCommand),
	"kube-controller-manager": serve(manager.NewControllerManagerCommand),
	"kube-scheduler":          serve(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 client,
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	run, known := parts[os.Args[1]]
	if !known {
		usage()
	}
	os.Args = os.Args[1:]
	run()
}

func serve(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

// client ends as kubectl itself does: its errors have words and exit codes of their own, which tests compare.
func client() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func usage() {
	var names []string
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: testbed %s [FLAGS]\n", strings.Join(names, "|"))
	os.Exit(2)
}
