/** Whether S3 can have an object there. Asked for any other it fails, which would look like trouble of ours, again and again. */
export function isS3Place(bucket: string, key: string): boolean {
  const keyBytes = new TextEncoder().encode(key).length;
  return /^[\w.-]{3,63}$/.test(bucket) && key.isWellFormed() && keyBytes > 0 && keyBytes <= 1_024;
}
