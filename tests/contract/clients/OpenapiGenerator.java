/* A client that openapi-generator makes for Java creates, asks, tells, lists and reads. Argument: the server's URL. */
import java.util.List;
import java.util.Map;
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
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        StudiesApi studies = new StudiesApi(client);
        TrialsApi trials = new TrialsApi(client);
        ReadingApi reading = new ReadingApi(client);
        CandidatesDefinition list = new CandidatesDefinition().type(CandidatesDefinition.TypeEnum.CANDIDATES)
            .points(List.of(List.of(0.0, 1.0), List.of(2.0, 3.0))).keys(List.of("CCO", "CC"));
        StudyDefinition definition = new StudyDefinition().id("generator-java").seed((1L << 53) - 1)
            .metric(new Metric().name("loss").goal(Metric.GoalEnum.MINIMIZE)).domain(new DomainDefinition(list));
        Study study = studies.createStudy(definition, null, null);
        check(study.getSeed() == (1L << 53) - 1 && study.getDomain().getCandidatesDomain().getDimension() == 2, study);
        AskAnswer asked = trials.ask(study.getId(), null, null, new Ask().count(2L));
        Tell tell = new Tell();
        for (Trial trial : asked.getTrials())
            tell.addResultsItem(new Result().trial(trial.getId()).value((double) trial.getId()));
        check(trials.tell(study.getId(), tell, null, null).getAccepted() == 2, tell);
        check(trials.listTrials(study.getId()).getItems().size() == 2, "trials");
    }
}
