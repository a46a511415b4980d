/* A client that openapi-generator makes for Java creates, asks, tells, lists and reads. Argument: the server's URL. */
import java.util.LinkedHashSet;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ReadingApi;
import org.openapitools.client.api.StudiesApi;
import org.openapitools.client.api.TrialsApi;
import org.openapitools.client.model.*;

public class OpenapiGenerator {
    static void check(boolean good, Object what) {
        if (!good)
            throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient().setBasePath(arguments[0]);
        StudiesApi studies = new StudiesApi(client);
        TrialsApi trials = new TrialsApi(client);
        ReadingApi reading = new ReadingApi(client);
        Metric loss = new Metric().name("loss").goal(Metric.GoalEnum.MINIMIZE);
        DoubleParameter rate = new DoubleParameter().type(DoubleParameter.TypeEnum.DOUBLE).name("rate").min(1e-5).max(1.0)
            .scale(ParameterScale.LOG);
        CategoricalParameter kind = new CategoricalParameter().type(CategoricalParameter.TypeEnum.CATEGORICAL).name("kind")
            .values(new LinkedHashSet<>(List.of("a", "b")));
        SpaceDomain space = new SpaceDomain().type(SpaceDomain.TypeEnum.SPACE)
            .parameters(List.of(new Parameter(rate), new Parameter(kind)));
        KernelDefinition kernel = new KernelDefinition().type(KernelDefinition.TypeEnum.GAUSSIAN).lengthscale(new Lengthscale(0.5));
        AlgorithmDefinition algorithm = new AlgorithmDefinition().name(AlgorithmDefinition.NameEnum.BBKB).kernel(kernel).noiseStd(new NoiseStd(0.1));
        StudyDefinition definition = new StudyDefinition().id("generator-java").seed((1L << 53) - 1).metric(loss)
            .domain(new DomainDefinition(space)).algorithm(algorithm);
        Study study = studies.createStudy(definition, null, null, null);
        check(study.getSeed() == (1L << 53) - 1 && study.getAlgorithm().getBbkb().getNoiseStd().getDouble() == 0.1, study);
        check(study.getDomain().getSpaceDomain().getParameters().get(0).getDoubleParameter().getScale() == ParameterScale.LOG, study);
        AskAnswer asked = trials.ask(study.getId(), null, null, new Ask().count(3L));
        Tell tell = new Tell();
        for (Trial trial : asked.getTrials())
            tell.addResultsItem(new Result().trial(trial.getId()).value((double) trial.getId()));
        check(trials.tell(study.getId(), tell, null, null).getAccepted() == 3, tell);
        check(trials.listTrials(study.getId(), TrialState.COMPLETED, null, null, null, null, null, null, null).getItems().size() == 3, "trials");
        check(trials.getTrial(study.getId(), 1L, null).getAttempts().get(0).getOutcome().equals("completed"), "attempt");
        check(!studies.listStudies(null, null, null, null, null).getItems().isEmpty(), "studies");
        check(reading.getBest(study.getId(), null).getObserved().getTrial() == 1, "best");
        check(reading.getModel(study.getId(), null, null).getKernel().getGaussianKernel() != null, "model");

        CandidatesDefinition list = new CandidatesDefinition().type(CandidatesDefinition.TypeEnum.CANDIDATES)
            .points(List.of(List.of(0.0, 1.0), List.of(2.0, 3.0))).keys(List.of("CCO", "CC"));
        StudyDefinition listed = new StudyDefinition().id("generator-java-list").metric(loss).domain(new DomainDefinition(list));
        check(studies.createStudy(listed, null, null, null).getDomain().getCandidatesDomain().getDimension() == 2, "list");
        check(trials.proposeTrial("generator-java-list", new Proposal().key("CC"), null, null, null).getCandidate() == 1, "key");
        Predict where = new Predict().keys(List.of("CC", "CCO"));
        check(reading.predict("generator-java-list", where, null, null).getPredictions().size() == 2, "predictions");
        System.exit(0); // the client's threads live on for a minute
    }
}
