import type { IncomingMessage, RequestListener } from 'node:http'

/** The largest body that is read, in characters: a review has two versions of an object. */
const LARGEST_BODY = 8_388_608

/**
 * Answers the POST requests of an API server, for `createServer` of node:https. The body is a
 * review, and so is the answer. A body that is not JSON, too large or cut off is answered with 400.
 */
export function reviewListener(answer: (review: unknown) => Promise<unknown>): RequestListener {
  return async (request, response) => {
    const body = await bodyOf(request)
    if (body === undefined) return void response.writeHead(400).end()
    response.setHeader('content-type', 'application/json').end(JSON.stringify(await answer(body)))
  }
}

/** @returns `undefined` for a body that is not JSON, too large, or cut off */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  try {
    for await (const part of request.setEncoding('utf8')) {
      text += part
      if (text.length > LARGEST_BODY) return undefined
    }
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
