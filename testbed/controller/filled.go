package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// filled sends what is not of a custom kind as protobuf, as controller-runtime does, and shows what the server made of it.
func filled(ctx context.Context, m manager.Manager, _ *rest.Config, namespace string, out io.Writer) error {
	no, user, seconds, mode := false, int64(1000), int64(7), int32(0o400)
	port := intstr.FromString("http")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "filled", Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  &no,
			TerminationGracePeriodSeconds: &seconds,
			SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &user, RunAsNonRoot: &no},
			Tolerations: []corev1.Toleration{{
				Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
			}},
			NodeSelector: map[string]string{"x": "y"},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				}},
			}},
			InitContainers: []corev1.Container{{Name: "init", Image: "i:1", Command: []string{"true"}}},
			Containers: []corev1.Container{{
				Name: "main", Image: "i:2", Args: []string{"a", ""},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
				Env: []corev1.EnvVar{
					{Name: "A", Value: "b"},
					{Name: "N", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
					{Name: "S", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: &no,
					}}},
				},
				Resources: corev1.ResourceRequirements{
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
					Requests: corev1.ResourceList{"cpu": resource.MustParse("0.5")},
				},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: port}},
					PeriodSeconds: 3,
				},
				Lifecycle:    &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sync"}}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "e", MountPath: "/e"}, {Name: "c", MountPath: "/c", ReadOnly: true, SubPath: "s"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, DefaultMode: &mode, Items: []corev1.KeyToPath{{Key: "a", Path: "b"}},
				}}},
			},
		},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "filled"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "None", PublishNotReadyAddresses: true, Selector: map[string]string{"a": "b"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: port}},
		},
	}
	for _, object := range []client.Object{pod, service} {
		if err := m.GetClient().Create(ctx, object); err != nil {
			return err
		}
	}
	for _, spec := range []any{pod.Spec, service.Spec} {
		text, err := json.Marshal(spec)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "filled: %s\n", text)
	}
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: time.Unix(1700000000, 0)}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: "Because"}}
	pod.ResourceVersion = "" // whatever the scheduler has written meanwhile
	if err := m.GetClient().Status().Update(ctx, pod); err != nil {
		return err
	}
	text, err := json.Marshal(pod.Status)
	fmt.Fprintf(out, "its status: %s\n", text)
	return err
}
