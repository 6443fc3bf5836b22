/** They stand in every prompt and every answer, and nowhere else. */
export const promptMark = "the-prompt-is-nobodys-business";
export const answerMark = "nor-is-the-answer";
