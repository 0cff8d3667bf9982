package main

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

func reconciled(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	c := m.GetClient()
	parent := configMap(namespace, "parent", map[string]string{"key": "one"})
	parent.Labels = map[string]string{"role": "parent"}
	if err := c.Create(ctx, parent); err != nil {
		return err
	}
	var child corev1.ConfigMap
	name := types.NamespacedName{Namespace: namespace, Name: "parent-child"}
	if err := until(ctx, "the child is made", func() bool { return c.Get(ctx, name, &child) == nil }); err != nil {
		return err
	}
	fmt.Fprintf(out, "reconciled: %s of %s with %v\n", child.Name, child.OwnerReferences[0].Name, child.Data)
	if err := c.Patch(ctx, parent, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"two"}}`))); err != nil {
		return err
	}
	follows := func() bool { return c.Get(ctx, name, &child) == nil && child.Data["key"] == "two" }
	if err := until(ctx, "the child follows", follows); err != nil {
		return err
	}
	if err := c.Delete(ctx, &child); err != nil {
		return err
	}
	old := child.UID
	if err := until(ctx, "the child is made again", func() bool { return c.Get(ctx, name, &child) == nil && child.UID != old }); err != nil {
		return err
	}
	fmt.Fprintf(out, "made again with %v\n", child.Data)
	if err := c.Delete(ctx, parent, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	gone := func() bool { return apierrors.IsNotFound(m.GetAPIReader().Get(ctx, name, &child)) }
	if err := until(ctx, "the child goes with its parent", gone); err != nil {
		return err
	}
	fmt.Fprintln(out, "the child went with its parent")
	return nil
}

func conflicting(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	c, name := m.GetClient(), types.NamespacedName{Namespace: namespace, Name: "contended"}
	if err := c.Create(ctx, configMap(namespace, name.Name, nil)); err != nil {
		return err
	}
	fmt.Fprintln(out, "a second creation:", apierrors.IsAlreadyExists(c.Create(ctx, configMap(namespace, name.Name, nil))))
	var stale, fresh corev1.ConfigMap
	if err := m.GetAPIReader().Get(ctx, name, &stale); err != nil {
		return err
	}
	fresh = *stale.DeepCopy()
	fresh.Data = map[string]string{"by": "fresh"}
	if err := c.Update(ctx, &fresh); err != nil {
		return err
	}
	stale.Data = map[string]string{"by": "stale"}
	fmt.Fprintln(out, "an update of what has changed:", apierrors.IsConflict(c.Update(ctx, &stale)))
	locked := client.MergeFromWithOptions(stale.DeepCopy(), client.MergeFromWithOptimisticLock{})
	stale.Data["by"] = "patch"
	fmt.Fprintln(out, "a locked patch of it:", apierrors.IsConflict(c.Patch(ctx, &stale, locked)))
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var current corev1.ConfigMap
		if err := m.GetAPIReader().Get(ctx, name, &current); err != nil {
			return err
		}
		current.Data["by"] = "retry"
		return c.Update(ctx, &current)
	})
	fmt.Fprintln(out, "a retry:", err == nil)
	return nil
}

func applied(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	c := m.GetClient()
	apply := func(owner, value string, more ...client.ApplyOption) error {
		wanted := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"key": value, owner: "own"})
		return c.Apply(ctx, wanted, append(more, client.FieldOwner(owner))...)
	}
	if err := apply("ann", "1"); err != nil {
		return err
	}
	fmt.Fprintln(out, "applied by another:", apierrors.IsConflict(apply("bob", "2")))
	if err := apply("bob", "2", client.ForceOwnership); err != nil {
		return err
	}
	if err := apply("ann", "2"); err != nil {
		return err
	}
	found := &unstructured.Unstructured{}
	found.SetAPIVersion("v1")
	found.SetKind("ConfigMap")
	if err := m.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: namespace, Name: "applied"}, found); err != nil {
		return err
	}
	data, _, _ := unstructured.NestedStringMap(found.Object, "data")
	fmt.Fprintf(out, "applied: %v, managed by %d\n", data, len(found.GetManagedFields()))
	return nil
}

func listed(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	c := m.GetClient()
	for index := range 5 {
		one := configMap(namespace, fmt.Sprintf("listed-%d", index), map[string]string{"key": fmt.Sprint(index % 2)})
		one.Labels = map[string]string{"list": "yes"}
		if err := c.Create(ctx, one); err != nil {
			return err
		}
	}
	var found corev1.ConfigMapList
	all := func() bool {
		return c.List(ctx, &found, client.InNamespace(namespace), client.MatchingLabels{"list": "yes"}) == nil && len(found.Items) == 5
	}
	if err := until(ctx, "all are in the cache", all); err != nil {
		return err
	}
	var indexed, paged corev1.ConfigMapList
	mine := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{"list": "yes"}}
	if err := c.List(ctx, &indexed, append(mine, client.MatchingFields{"data.key": "0"})...); err != nil {
		return err
	}
	if err := m.GetAPIReader().List(ctx, &paged, append(mine, client.Limit(2))...); err != nil {
		return err
	}
	more := paged.Continue != ""
	fmt.Fprintf(out, "listed: %d, by index %d, in a page %d and more: %v\n", len(found.Items), len(indexed.Items), len(paged.Items), more)
	return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.MatchingLabels{"list": "yes"})
}

// watched is client-go alone.
func watched(ctx context.Context, _ manager.Manager, settings *rest.Config, namespace string, out io.Writer) error {
	clients, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return err
	}
	maps := clients.CoreV1().ConfigMaps(namespace)
	start, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: start.ResourceVersion, FieldSelector: "metadata.name=seen"})
	if err != nil {
		return err
	}
	defer stream.Stop()
	if _, err := maps.Create(ctx, configMap(namespace, "seen", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Patch(ctx, "seen", types.StrategicMergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "seen", metav1.DeleteOptions{}); err != nil {
		return err
	}
	for range 3 {
		select {
		case event := <-stream.ResultChan():
			fmt.Fprintf(out, "seen: %s %v\n", event.Type, event.Object.(*corev1.ConfigMap).Data)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func held(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	c, one := m.GetClient(), configMap(namespace, "held", nil)
	controllerutil.AddFinalizer(one, finalizer)
	if err := c.Create(ctx, one); err != nil {
		return err
	}
	if err := c.Delete(ctx, one, client.Preconditions{UID: &one.UID}); err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(one)
	if err := m.GetAPIReader().Get(ctx, name, one); err != nil {
		return err
	}
	fmt.Fprintln(out, "held by its finalizer:", !one.DeletionTimestamp.IsZero())
	controllerutil.RemoveFinalizer(one, finalizer)
	if err := c.Update(ctx, one); err != nil {
		return err
	}
	fmt.Fprintln(out, "and gone without it:", apierrors.IsNotFound(m.GetAPIReader().Get(ctx, name, one)))
	return nil
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func until(ctx context.Context, what string, condition func() bool) error {
	check := func(context.Context) (bool, error) { return condition(), nil }
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, check); err != nil {
		return fmt.Errorf("not in time: %s", what)
	}
	return nil
}
