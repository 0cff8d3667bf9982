// Command controller is a controller as others write them, with client-go and controller-runtime, for tests: it works in one namespace
// and prints what it saw, line by line. usage: controller KUBECONFIG NAMESPACE
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	patience  = 60 * time.Second
	finalizer = "conformance.example/held"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file, namespace string, out io.Writer) error {
	settings, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	first, err := candidate(settings, namespace, "first")
	if err != nil {
		return err
	}
	second, err := candidate(settings, namespace, "second")
	if err != nil {
		return err
	}
	life, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- first.Start(life) }()
	if !first.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache did not sync")
	}
	fmt.Fprintln(out, "the cache is in sync")
	select {
	case <-first.Elected():
		fmt.Fprintln(out, "the first candidate leads")
	case <-ctx.Done():
		return errors.New("nobody was elected")
	}
	steps := []func(context.Context, manager.Manager, *rest.Config, string, io.Writer) error{
		reconciled, conflicting, applied, listed, watched, held, filled,
	}
	for _, step := range steps {
		if err := step(ctx, first, settings, namespace, out); err != nil {
			return err
		}
	}
	return handedOver(ctx, second, func() error { end(); return <-ended }, out)
}

// candidate is a manager that would lead, with a controller for ConfigMaps that own others.
func candidate(settings *rest.Config, namespace, name string) (manager.Manager, error) {
	again, lease, renewed, retried := true, 8*time.Second, 5*time.Second, 200*time.Millisecond
	made, err := ctrl.NewManager(settings, manager.Options{
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "controller",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renewed,
		RetryPeriod:                   &retried,
		Controller:                    config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		return nil, err
	}
	byKey := func(object client.Object) []string { return []string{object.(*corev1.ConfigMap).Data["key"]} }
	if err := made.GetFieldIndexer().IndexField(context.Background(), &corev1.ConfigMap{}, "data.key", byKey); err != nil {
		return nil, err
	}
	return made, ctrl.NewControllerManagedBy(made).Named(name).For(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}).
		Complete(&parents{made.GetClient(), made})
}

// parents gives each ConfigMap that is labelled as one a child.
type parents struct {
	client.Client
	manager manager.Manager
}

func (r *parents) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var parent corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &parent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if parent.Labels["role"] != "parent" || !parent.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: parent.Name + "-child", Namespace: parent.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, child, func() error {
		child.Data = map[string]string{"key": parent.Data["key"]}
		return controllerutil.SetControllerReference(&parent, child, r.Scheme())
	})
	return ctrl.Result{}, err
}

func handedOver(ctx context.Context, second manager.Manager, end func() error, out io.Writer) error {
	life, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- second.Start(life) }()
	if !second.GetCache().WaitForCacheSync(ctx) {
		stop()
		return errors.New("the second cache did not sync")
	}
	select {
	case <-second.Elected():
		stop()
		return errors.New("two lead at once")
	default:
	}
	if err := end(); err != nil {
		stop()
		return err
	}
	select {
	case <-second.Elected():
		fmt.Fprintln(out, "the second leads once the first has ended")
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
	stop()
	return <-ended
}
