// A client that openapi-generator makes for Go creates, asks, tells, lists and reads. Argument: the server's URL.
package main

import (
	"context"
	"os"

	banditd "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](answer T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func to[T any](value T) *T { return &value }

func check(good bool, what any) {
	if !good {
		panic(what)
	}
}

func main() {
	configuration := banditd.NewConfiguration()
	configuration.Servers = banditd.ServerConfigurations{{URL: os.Args[1]}}
	client, ctx := banditd.NewAPIClient(configuration), context.Background()
	rate := banditd.NewDoubleParameter("rate", "double", 1e-5, 1)
	rate.Scale = to(banditd.ParameterScale("log"))
	kind := banditd.NewCategoricalParameter("kind", "categorical", []string{"a", "b"})
	space := banditd.NewSpaceDomain("space", []banditd.Parameter{banditd.DoubleParameterAsParameter(rate), banditd.CategoricalParameterAsParameter(kind)})
	definition := banditd.NewStudyDefinition(banditd.SpaceDomainAsDomainDefinition(space))
	definition.Id, definition.Seed = to("generator-go"), to(int64(1)<<53-1)
	definition.Metric = &banditd.Metric{Name: "loss", Goal: to("minimize")}
	definition.Algorithm = &banditd.AlgorithmDefinition{Name: to("bbkb"), NoiseStd: to(banditd.Float64AsNoiseStd(to(0.1)))}
	study := must(client.StudiesAPI.CreateStudy(ctx).StudyDefinition(*definition).Execute())
	check(*study.Algorithm.Bbkb.NoiseStd.Float64 == 0.1 && study.Seed == int64(1)<<53-1, study)
	check(study.Domain.SpaceDomain.Parameters[0].DoubleParameter.Min == 1e-5, study.Domain)
	asked := must(client.TrialsAPI.Ask(ctx, study.Id).Ask(banditd.Ask{Count: to(int64(3))}).Execute())
	var results []banditd.Result
	for _, trial := range asked.Trials {
		results = append(results, banditd.Result{Trial: trial.Id, Value: to(float64(trial.Id))})
	}
	check(must(client.TrialsAPI.Tell(ctx, study.Id).Tell(*banditd.NewTell(results)).Execute()).Accepted == 3, results)
	check(len(must(client.TrialsAPI.ListTrials(ctx, study.Id).State("completed").Execute()).Items) == 3, "trials")
	check(len(must(client.StudiesAPI.ListStudies(ctx).Execute()).Items) > 0, "studies")
	check(must(client.TrialsAPI.GetTrial(ctx, study.Id, 1).Execute()).Attempts[0].GetOutcome() == "completed", "attempt")
	best := must(client.ReadingAPI.GetBest(ctx, study.Id).Execute())
	check(best.Observed.Get().GetTrial() == 1 && best.Observed.Get().GetValue() == 1, best)
	check(must(client.ReadingAPI.GetModel(ctx, study.Id).Execute()).Kernel.MaternKernel != nil, "kernel")
}
