import { ipamError } from '../errors/index.js'

/**
 * Guards the text parameters of the module against callers without types: `undefined` is a mistake in the calling code, not a
 * malformed address.
 */
export function assertText(text: unknown): asserts text is string {
  if (typeof text !== 'string') {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'text',
      expected: 'a string',
      got: text === null ? 'null' : typeof text,
    })
  }
}
