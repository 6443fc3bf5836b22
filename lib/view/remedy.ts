/** What to do about an error of AWS that keeps the view from being made, by the error's name. For a person. */
export function remedyFor(errorName: string): string {
  switch (errorName) {
    case "AccessDenied":
    case "AccessDeniedException":
      return "A right is missing: deploy the stack again, which grants it; if an SCP or a boundary denies it, ask whoever owns that.";
    case "ResourceNotFoundException":
    case "QueueDoesNotExist":
    case "AWS.SimpleQueueService.NonExistentQueue":
      return "A table or a queue is gone: deploy the stack again, which makes it.";
    case "ProvisionedThroughputExceededException":
    case "ThrottlingException":
    case "RequestLimitExceeded":
      return "AWS refuses for a moment: refresh in a minute. If it stays so, see DynamoDB's refusals on the dashboard.";
    case "TimeoutError":
      return "AWS did not answer in time: refresh. In a VPC there must be a way to DynamoDB and SQS.";
    case "ECONNREFUSED":
    case "ECONNRESET":
    case "ENOTFOUND":
      return "Nobody answers there: an engine on this machine has ended, and npm start begins anew; on AWS it is the network.";
    default:
      return "Refresh; if it stays so, the log has the error by this name.";
  }
}
