import { Aws, Stack, Validations } from "aws-cdk-lib";
import {
  AuthorizationType,
  AwsIntegration,
  JsonSchemaType,
  PassthroughBehavior,
  RestApi,
} from "aws-cdk-lib/aws-apigateway";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import type { ExampleProps } from "./example.ts";

/** `POST /jobs` with an envelope, signed by an IAM identity: 202 once SQS has it. */
export class ApiExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const llm = new Sluice(this, "Llm", props);
    const { queue } = llm.jobQueues.rt;

    const role = new Role(this, "ApiRole", { assumedBy: new ServicePrincipal("apigateway.amazonaws.com") });
    llm.allowFeed(role, { lane: "rt" });

    const api = new RestApi(this, "Api");
    const envelope = api.addModel("Envelope", {
      schema: { type: JsonSchemaType.OBJECT, required: ["jobId", "model", "op"] },
    });
    const sent = new AwsIntegration({
      service: "sqs",
      path: `${Aws.ACCOUNT_ID}/${queue.queueName}`,
      options: {
        credentialsRole: role,
        passthroughBehavior: PassthroughBehavior.NEVER,
        requestParameters: { "integration.request.header.Content-Type": "'application/x-www-form-urlencoded'" },
        // Without urlEncode a body ends at its first ampersand, and its plus signs become blanks.
        requestTemplates: { "application/json": "Action=SendMessage&MessageBody=$util.urlEncode($input.body)" },
        // Without a pattern of its own, SQS's refusal would be a 202 too.
        integrationResponses: [{ statusCode: "202" }, { statusCode: "502", selectionPattern: String.raw`[45]\d\d` }],
      },
    });
    api.root.addResource("jobs").addMethod("POST", sent, {
      authorizationType: AuthorizationType.IAM,
      requestModels: { "application/json": envelope },
      requestValidatorOptions: { validateRequestBody: true, validateRequestParameters: true },
      methodResponses: [{ statusCode: "202" }, { statusCode: "502" }],
    });
    const acknowledged = {
      APIG1: "An account has to have a role for an API's logs; the queue's metrics count what was sent.",
      APIG3: "Only signed requests of the account's own identities come in.",
      APIG6: "An account has to have a role for an API's logs; the queue's metrics count what was sent.",
      COG4: "IAM says who may call, by execute-api:Invoke.",
    };
    for (const [rule, reason] of Object.entries(acknowledged)) {
      Validations.of(api).acknowledge({ id: `AwsSolutions-${rule}`, reason });
    }
  }
}
